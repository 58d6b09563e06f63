"""Realtime: from the end of speech to the first sound of the answer, as a client hears it.

A recorded question is sent over `/v1/realtime` as fast as it was spoken, then silence. The server
says where in the sound the speech ended; until the answer's first sound arrives the clock runs.
"""

import base64
import json
import statistics
import threading
import time

import numpy as np

from benchmarks.serving import ROOT, percentile, server
from inference.audio import load_audio
from inference.media import SAMPLE_RATE
from inference.output import pcm16
from models.errors import UserError

TURNS = 8
WIRE_RATE = 24_000  # Hz
FRAME = WIRE_RATE // 50  # samples sent at once: 20 ms
SILENCE = 5.0  # seconds after the question
SECONDS = 60  # the longest that a turn may take


def bench_realtime(omni, rounds: int, tokens: int) -> dict[str, dict[str, float]]:
    """One row: seconds from the end of speech to the first sound, one client alone."""
    from serving.encoding import Resampler

    change = Resampler(SAMPLE_RATE, WIRE_RATE)
    heard = pcm16(load_audio(ROOT / "examples/question.wav"))
    pcm = np.concatenate([change.push(heard), change.flush()])
    with server(omni) as (port, _):
        turn(port, pcm)  # everything is loaded and compiled
        took = [turn(port, pcm) for _ in range(TURNS)]
    row = {
        "turns": TURNS,
        "first_sound": statistics.median(one["sound"] for one in took),
        "first_sound_p95": percentile([one["sound"] for one in took]),
        "turn_found": statistics.median(one["found"] for one in took),
        "words": statistics.median(one["words"] for one in took),
        "first_word": statistics.median(one["word"] for one in took),
    }
    return {"end of speech to": row}


MARKS = {  # the events whose arrival is noted
    "input_audio_buffer.speech_stopped": "found",
    "conversation.item.input_audio_transcription.completed": "words",
    "response.output_audio_transcript.delta": "word",
    "response.output_audio.delta": "sound",
}


def turn(port: int, pcm: np.ndarray) -> dict[str, float]:
    """Say it -> seconds after its end until each of MARKS."""
    from websockets.sync.client import connect

    with connect(f"ws://127.0.0.1:{port}/v1/realtime", max_size=2**24) as socket:
        begin = time.perf_counter()
        threading.Thread(target=say, args=(socket, pcm, begin), daemon=True).start()
        ended, at = None, {}
        while "sound" not in at:
            event = json.loads(socket.recv(timeout=SECONDS))
            if event["type"] in ("error", "response.done"):
                raise UserError(f"the turn had no sound: {json.dumps(event)[:300]}")
            if event["type"] == "input_audio_buffer.speech_stopped":
                ended = begin + event["audio_end_ms"] / 1000
            if event["type"] in MARKS:
                at.setdefault(MARKS[event["type"]], time.perf_counter())
    return {name: when - ended for name, when in at.items()}


def say(socket, pcm: np.ndarray, begin: float) -> None:
    """Send the question, then silence, each frame when it has been spoken."""
    from websockets.exceptions import ConnectionClosed

    sound = np.concatenate([pcm, np.zeros(int(SILENCE * WIRE_RATE), pcm.dtype)])
    try:
        for place in range(0, len(sound), FRAME):
            part = sound[place : place + FRAME].astype("<i2").tobytes()
            time.sleep(max(0.0, begin + (place + FRAME) / WIRE_RATE - time.perf_counter()))
            audio = base64.b64encode(part).decode()
            socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
    except ConnectionClosed:  # the first sound came
        pass
