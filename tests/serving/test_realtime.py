"""Events of a realtime session, without a socket or a model."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from serving.errors import ApiError
from serving.realtime import Connection
from serving.realtime_items import Item
from serving.realtime_session import ResponseSettings, Session, updated
from serving.schema import checked


def sent(connection: Connection) -> list[dict]:
    """What it has sent since."""
    return [connection.unsent.get_nowait() for _ in range(connection.unsent.qsize())]


def said(text: str, **more) -> dict:
    content = [{"type": "input_text", "text": text}]
    return {"item": {"type": "message", "role": "user", "content": content} | more}


def test_an_answer_stopped_before_it_begins_was_announced():
    async def run() -> list[str]:
        connection = Connection(SimpleNamespace(), None, Session())
        await connection.handlers["response.create"]({})
        await connection.handlers["response.cancel"]({})
        return [event["type"] for event in sent(connection)]

    assert asyncio.run(run()) == ["response.created", "response.done"]


def test_an_item_is_told_with_the_one_before_it_as_they_are():
    """The one before an answer may be deleted while it is made."""
    async def run() -> list[dict]:
        service = SimpleNamespace(conversations=SimpleNamespace(check_pictures=len), work=done)
        connection = Connection(service, None, Session())
        for name in "abc":
            await connection.handlers["conversation.item.create"](said("Hi", id=name))
        await connection.handlers["conversation.item.delete"]({"item_id": "b"})
        connection.tell(connection.items["c"], "done")
        return sent(connection)

    events = asyncio.run(run())
    told = [(e["item"]["id"], e["previous_item_id"]) for e in events if e["type"].endswith("item.done")]
    assert told == [("a", None), ("b", "a"), ("c", "b"), ("c", "a")]


def test_a_transcript_is_as_the_official_client_wants_it():
    openai = pytest.importorskip("openai.types.realtime", reason="no openai: requirements-dev.txt")

    async def heard(_) -> str:
        return "Hello."

    async def run() -> dict:
        connection = Connection(SimpleNamespace(transcribe=heard), None, Session())
        connection.buffer = np.zeros(24_000, np.float32)  # 1.5 s at 16 kHz
        await connection.handlers["input_audio_buffer.commit"]({})
        await asyncio.gather(*connection.tasks)
        return sent(connection)[-1]

    kind = openai.ConversationItemInputAudioTranscriptionCompletedEvent
    assert kind.model_validate(asyncio.run(run())).usage.seconds == 1.5


def test_what_asks_for_nothing_is_let_through():
    nothing = {"tools": [], "tool_choice": "none"}
    assert checked(ResponseSettings, nothing, "response") and updated(Session(), nothing | {"tracing": None})
    for kind in (Session, ResponseSettings):
        with pytest.raises(ApiError) as caught:
            checked(kind, {"tools": [{"type": "function"}]}, "a")
        assert caught.value.param == "a.tools"


@pytest.mark.parametrize("index", [1, -1, "0", None, False, 10**20])
def test_an_answer_has_one_part(index):
    async def run() -> None:
        connection = Connection(SimpleNamespace(), None, Session())
        connection.items["a"] = Item("a", "assistant", "One two.", spoken=True, sound_ms=1000)
        truncate = connection.handlers["conversation.item.truncate"]
        with pytest.raises(ApiError) as caught:
            await truncate({"item_id": "a", "content_index": index, "audio_end_ms": 500})
        assert caught.value.param == "content_index" and connection.items["a"].text == "One two."
        await truncate({"item_id": "a", "content_index": 0, "audio_end_ms": 500})
        assert connection.items["a"].text == "One"

    asyncio.run(run())


def test_inf_is_what_the_context_holds():
    wanted = []

    def config(settings):
        wanted.append(settings)
        raise ApiError("enough")

    async def run() -> None:
        service = SimpleNamespace(
            conversations=SimpleNamespace(check_pictures=len), work=done, config=config,
            engine=SimpleNamespace(capacity=1024), place=nullcontext,
        )
        connection = Connection(service, None, Session(output_modalities=["text"]))
        await connection.handlers["conversation.item.create"](said("Hi"))
        for most in ("inf", 7):
            await connection.handlers["response.create"]({"response": {"max_output_tokens": most}})
            await connection.response.task

    asyncio.run(run())
    assert wanted == [{"max_new_tokens": 1024}, {"max_new_tokens": 7}]


async def done(_, function, *args):
    return function(*args)
