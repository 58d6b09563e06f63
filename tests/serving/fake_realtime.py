"""A realtime session without a model: turns by level, answers of fixed words and a tone.

Speaks the events of docs/serving.md that the page uses.
"""

import array
import base64
import itertools
import json
import threading
import time

RATE = 24_000  # Hz
LOUD = 900  # root mean square of 16-bit samples that counts as speech
BEGINS, ENDS = 60, 300  # ms of loud or quiet frames that begin or end a turn


class FakeRealtime:
    """One session: `run` until the client has gone. `log` gets every event of the client."""

    def __init__(self, socket, log: list, tone, answer: str) -> None:
        self.socket, self.log, self.tone, self.answer = socket, log, tone, answer
        self.numbers = itertools.count(1)
        self.heard = 0.0  # ms of sound since the session began
        self.loud = self.quiet = 0.0
        self.item: str | None = None
        self.cancelled = threading.Event()

    def run(self) -> None:
        self.send("session.created", session={"type": "realtime"})
        while (text := self.socket.receive()) is not None:
            event = json.loads(text)
            self.log.append(event)
            act = getattr(self, "on_" + event["type"].replace(".", "_"), None)
            if act:
                act(event)
        self.cancelled.set()

    def send(self, kind: str, **fields) -> None:
        try:
            self.socket.send(json.dumps({"type": kind, "event_id": self.name("event"), **fields}))
        except OSError:
            self.cancelled.set()

    def name(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers)}"

    def on_session_update(self, event: dict) -> None:
        self.send("session.updated", session=event["session"])

    def on_input_audio_buffer_append(self, event: dict) -> None:
        samples = array.array("h", base64.b64decode(event["audio"]))
        for start in range(0, len(samples), 480):
            self.frame(samples[start : start + 480])

    def on_input_audio_buffer_clear(self, event: dict) -> None:
        self.loud = self.quiet = 0.0
        self.item = None
        self.send("input_audio_buffer.cleared")

    def frame(self, samples) -> None:
        ms = 1000 * len(samples) / RATE
        self.heard += ms
        loud = sum(each * each for each in samples) / max(1, len(samples)) > LOUD**2
        self.loud = self.loud + ms if loud else 0.0
        self.quiet = 0.0 if loud else self.quiet + ms
        if self.item is None and self.loud >= BEGINS:
            self.item = self.name("item")
            at = int(self.heard - self.loud)
            self.send("input_audio_buffer.speech_started", audio_start_ms=at, item_id=self.item)
        elif self.item and self.quiet >= ENDS:
            self.commit()

    def commit(self) -> None:
        item, self.item = self.item, None
        at = int(self.heard - self.quiet)
        self.send("input_audio_buffer.speech_stopped", audio_end_ms=at, item_id=item)
        self.send("input_audio_buffer.committed", item_id=item, previous_item_id=None)
        self.send(
            "conversation.item.input_audio_transcription.completed",
            item_id=item,
            content_index=0,
            transcript="How many stars are there?",
        )

    def on_response_create(self, event: dict) -> None:
        self.cancelled = threading.Event()
        about = {"metadata": event.get("response", {}).get("metadata")}
        threading.Thread(target=self.respond, args=(self.cancelled, about), daemon=True).start()

    def on_response_cancel(self, event: dict) -> None:
        self.cancelled.set()

    def respond(self, cancelled: threading.Event, about: dict) -> None:
        response, item = self.name("response"), self.name("item")
        place = {"response_id": response, "item_id": item, "output_index": 0, "content_index": 0}
        self.send("response.created", response={"id": response, "status": "in_progress"} | about)
        for word in self.answer.split(" "):
            if cancelled.is_set():
                break
            self.send("response.output_audio_transcript.delta", delta=word + " ", **place)
            sound = base64.b64encode(self.tone(0.5)).decode()
            self.send("response.output_audio.delta", delta=sound, **place)
            time.sleep(0.05)
        status = "cancelled" if cancelled.is_set() else "completed"
        self.send("response.done", response={"id": response, "status": status, "output": []} | about)
