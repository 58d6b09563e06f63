"""Places in the queue, streams that end early, keys that a subprotocol cannot hold, formats of sound."""

import asyncio
import io
import logging
import threading
from collections import deque
from contextlib import ExitStack
from types import SimpleNamespace

import av
import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from serving.chat import complete
from serving.encoding import CONTENT_TYPES, encode_all
from serving.engine import MAX_ROWS, Engine
from serving.errors import ApiError
from serving.guard import KEY_PROTOCOL, Guard
from serving.metrics import Metrics
from serving.schema import AudioOut, ChatBody, SpeechBody
from serving.service import Service
from serving.streaming import Gone, Streamed, finished


def test_each_choice_takes_a_place():
    service = SimpleNamespace(busy=0, most=MAX_ROWS)
    with Service.place(service, 5):
        with pytest.raises(ApiError) as caught, Service.place(service, 4):
            pass
        with Service.place(service, 3):
            assert service.busy == MAX_ROWS and caught.value.status == 429
    assert service.busy == 0


def test_a_chat_asks_for_as_many():
    asked = []

    def place(count: int):
        asked.append(count)
        raise ApiError("enough")

    for n in (None, 3):
        body = ChatBody(messages=[{"role": "user", "content": "Hi"}], n=n)
        with pytest.raises(ApiError, match="enough"):
            asyncio.run(complete(SimpleNamespace(place=place), body, None))
    assert asked == [1, 3]


def test_a_transcript_that_nobody_waits_for_ends_between_its_windows():
    async def run() -> None:
        begun, ended = threading.Event(), threading.Event()

        def transcribe(source, progress) -> str:
            begun.set()
            try:
                while not ended.wait(0.01):
                    progress(0.0, 0.0)
            except Gone:
                ended.set()

        service = SimpleNamespace(omni=SimpleNamespace(transcribe=transcribe))
        service.work = lambda _, function, *args: asyncio.to_thread(function, *args)
        task = asyncio.create_task(Service.transcribe(service, "a.wav"))
        await asyncio.to_thread(begun.wait, 10)
        await finished(task)
        assert await asyncio.to_thread(ended.wait, 10)

    asyncio.run(run())


def test_those_who_left_end_although_all_rows_are_taken():
    told = []
    jobs = [SimpleNamespace(cancelled=left, deliver=told.append) for left in (False, True, False)]
    engine = SimpleNamespace(begun=deque((job, None) for job in jobs), active=[0] * MAX_ROWS)
    Engine._fill(engine)
    assert [end.reason for end in told] == ["cancelled"]
    assert [job for job, _ in engine.begun] == [jobs[0], jobs[2]]


def test_a_free_row_goes_first_to_one_that_thinks():
    begun = [(SimpleNamespace(cancelled=False, thinks=thinks), thinks) for thinks in (False, True, False)]
    given = []
    engine = SimpleNamespace(
        begun=deque(begun), active=[0] * (MAX_ROWS - 2), rows=SimpleNamespace(admit=given.append)
    )
    Engine._fill(engine)
    assert given == [True, False] and list(engine.begun) == begun[2:]
    assert engine.active[-2:] == [begun[1][0], begun[0][0]]


@pytest.mark.parametrize(("fails", "counted"), [("chunks", 0.0), ("send", 1.0)])
def test_a_stream_that_fails_is_no_client_that_left(fails, counted, caplog):
    async def chunks():
        yield b"a"
        if fails == "chunks":
            raise RuntimeError("no memory")

    async def send(message) -> None:
        if fails == "send" and message.get("body"):
            raise OSError("gone")

    async def run() -> float:
        metrics = Metrics()
        streamed = Streamed(chunks(), "text/plain", ExitStack(), metrics)
        await streamed({}, asyncio.Event().wait, send)
        return metrics.registry.get_sample_value("muomni_disconnects_total")

    with caplog.at_level(logging.ERROR, "serving"):
        assert asyncio.run(run()) == counted
    assert ("a stream failed" in caplog.text) == (fails == "chunks")


@pytest.mark.parametrize("sent", ["a/b=c: d", "a%2Fb%3Dc%3A%20d"])
def test_a_key_may_be_percent_encoded_in_a_subprotocol(sent):
    guard = Guard(None, "a/b=c: d", False)
    guard.check(opening(sent))
    with pytest.raises(ApiError):
        guard.check(opening(sent + "e"))


def opening(key: str) -> dict:
    protocols = f"realtime, {KEY_PROTOCOL}{key}".encode()
    return {"path": "/v1/realtime", "headers": [(b"sec-websocket-protocol", protocols)]}


def test_pcm_is_16_bit_at_24_khz():
    sound = np.frombuffer(encode_all([0.5 * np.sin(np.arange(16_000) / 5).astype(np.float32)], "pcm"), "<i2")
    assert abs(len(sound) - 24_000) < 30 and 0.4 < np.abs(sound).max() / 32_767 < 0.6  # 1 s, as loud


@pytest.mark.parametrize("kind", [kind for kind in CONTENT_TYPES if kind != "pcm"])
def test_sound_is_written_in_every_format(kind):
    assert AudioOut(format=kind) and SpeechBody(input="a", response_format=kind)
    wave = 0.5 * np.sin(np.arange(16_000) / 5).astype(np.float32)  # 1 s
    with av.open(io.BytesIO(encode_all([wave[:5000], wave[5000:]], kind))) as file:
        frames = list(file.decode(audio=0))
    assert 0.9 < sum(frame.samples / frame.sample_rate for frame in frames) < 1.2
