"""The service by its limits: who waits, who left, who is let in."""

import asyncio
import json
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")


from inference.prompt import Prompt
from serving import realtime_open
from serving.conversation import Prepared
from serving.engine import MAX_ROWS
from serving.errors import ApiError
from serving.guard import Guard
from serving.service import Service
from serving.streaming import Gone, unless_gone


def test_an_answer_ends_with_its_client():
    async def run():
        left, ended = asyncio.Event(), asyncio.Event()

        async def receive():
            await left.wait()
            return {"type": "http.disconnect"}

        async def work():
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        waits = asyncio.create_task(unless_gone(SimpleNamespace(receive=receive), work()))
        await asyncio.sleep(0)
        left.set()
        with pytest.raises(Gone):
            await asyncio.wait_for(waits, 1)
        return ended.is_set()

    assert asyncio.run(run())


def test_metrics_are_guarded_too():
    guard = Guard(None, "key", False)
    for path in ("/metrics", "/v1/models", "/v1/realtime"):
        with pytest.raises(ApiError) as caught:
            guard.check({"path": path, "headers": []})
        assert caught.value.status == 401
    guard.check({"path": "/health", "headers": []})


def test_sessions_are_counted_and_bounded():
    class Socket:
        query_params, scope, denied = {}, {}, ()

        async def send_denial_response(self, response):
            self.denied = response.status_code, json.loads(response.body)["error"]["type"]

        async def accept(self, _):
            raise RuntimeError("gone")

    async def voices():
        return ["a"]

    service = SimpleNamespace(hears=True, sockets=32, voices=voices)
    socket = Socket()
    asyncio.run(realtime_open.serve(service, socket))
    assert socket.denied == (429, "rate_limit_error")
    service.sockets = 31
    with pytest.raises(RuntimeError):
        asyncio.run(realtime_open.serve(service, socket))
    assert service.sockets == 31


def test_the_queue_is_as_long_as_asked_for(monkeypatch):
    for name in ("Engine", "SpeechEngine", "ThinkingEngine", "Conversations"):
        monkeypatch.setattr(f"serving.service.{name}", lambda *_: None)
    monkeypatch.setattr("serving.service.replace", lambda limits, **_: limits)
    service = Service(SimpleNamespace(limits=None), 3, None)
    with service.place(MAX_ROWS + 3), pytest.raises(ApiError), service.place():
        pass


def test_an_answer_that_is_left_is_cancelled():
    from serving.answer import Answer

    async def run():
        cancelled = []
        service = SimpleNamespace(engine=SimpleNamespace(cancel=cancelled.append))
        answer = Answer(service, Prepared(Prompt([1]), "", 0), None, began=0.0)
        await answer.__aexit__()
        return cancelled == [answer.job]

    assert asyncio.run(run())


def test_a_cancelled_answer_ends_at_the_next_step(nano_text_dir):
    import threading

    from inference import Omni
    from serving.engine import End, Engine, Job

    omni = Omni.from_pretrained(nano_text_dir)
    engine, events, ended = Engine(omni), [], threading.Event()
    config = omni.config(max_new_tokens=400, eos_token_id=-1)

    def deliver(event):
        events.append(event)
        if isinstance(event, End):
            ended.set()
        elif len(events) == 3:
            job.cancelled = True

    job = Job(omni.head(None, config), config, deliver)
    engine.start()
    engine.submit(job)
    assert ended.wait(30)
    engine.close()
    assert events[-1].reason == "cancelled" and len(events) < 10
