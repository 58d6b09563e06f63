"""Events of a realtime session, without a socket or a model."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from serving import realtime
from serving.activity import Paused, Stopped
from serving.errors import ApiError
from serving.realtime import Connection
from serving.realtime_items import RATE, Item, words_of
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
        connection.items["a"] = Item("a", "assistant", "One two.", spoken=True, said=[(8, 1000)])
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


@pytest.mark.parametrize(("whole", "played", "kept"), [
    (True, 9000, "One two. Three four five. Six."),  # the last could not be said
    (False, 3000, "One two. Three four five."),
    (True, 2000, "One two. Three four five. Six."),
    (True, 1999, "One two. Three four"),
    (True, 1500, "One two. Three"),
    (False, 1100, "One two."),  # a share of a sentence whose sound was not made to its end
    (True, 1000, "One two."),
    (True, 0, ""),
])
def test_of_a_spoken_answer_stays_what_was_heard(whole, played, kept):
    """Its text runs ahead of its sound: text without sound was not heard."""
    item = Item("a", "assistant", "One two. Three four five. Six.", spoken=True, whole=whole)
    for end, ms in ((8, 400), (8, 600), (25, 1000)):
        item.add_sound(end, ms)
    item.truncate(played)
    assert item.text == kept
    item.truncate(played)
    assert item.text == kept


def hearing(service=None, **detection) -> Connection:
    """A connection that has heard 3 s, in which speech began at 1 s."""
    session = updated(Session(), {"audio": {"input": {"turn_detection": detection}}})
    connection = Connection(service or SimpleNamespace(), None, session)
    connection.buffer = np.zeros(3 * RATE, np.float32)
    connection.speech = RATE, "item_1"
    return connection


async def for_ever(*_) -> str:
    await asyncio.Event().wait()


@pytest.mark.parametrize("then", [
    lambda c: c._heard(Paused(2 * RATE)),
    lambda c: c._heard(Stopped(2 * RATE)),
    lambda c: c.handlers["input_audio_buffer.clear"]({}),
    lambda c: c.handlers["input_audio_buffer.commit"]({}),
    lambda c: c.handlers["session.update"]({"session": {"audio": {"input": {"turn_detection": None}}}}),
])
def test_a_transcript_begun_too_early_is_given_up(then):
    async def run() -> bool:
        service = SimpleNamespace(transcribe=for_ever, speech=for_ever)
        connection = hearing(service, create_response=False)
        await connection._heard(Paused(RATE + RATE // 2))
        early = connection.eager[1]
        service.speech = spoken
        await then(connection)
        await asyncio.sleep(0)
        return early.cancelled()

    assert asyncio.run(run())


async def spoken(*_) -> SimpleNamespace:
    return SimpleNamespace(voice="a")


def test_the_end_of_a_turn_leaves_an_answer_that_may_not_be_interrupted():
    async def run() -> tuple[bool, list[str]]:
        service = SimpleNamespace(transcribe=for_ever, place=nullcontext)
        connection = hearing(service, interrupt_response=False)
        connection.items["u"] = Item("u", "user", words=asyncio.create_task(for_ever()))
        connection.start_response(ResponseSettings())
        first = connection.response
        await asyncio.sleep(0)
        first.item = Item("a", "assistant")
        await connection._heard(Stopped(2 * RATE))
        await asyncio.sleep(0)
        kept = connection.response is first and not first.ended
        await first.cancel("client_cancelled")
        await asyncio.sleep(0.01)
        return kept, [e["type"] for e in sent(connection) if e["type"] == "response.created"]

    assert asyncio.run(run()) == (True, ["response.created", "response.created"])


def test_a_commit_within_speech_has_the_id_that_was_announced():
    async def run() -> list[dict]:
        connection = hearing(SimpleNamespace(transcribe=for_ever))
        await connection.handlers["input_audio_buffer.commit"]({})
        return sent(connection)

    assert asyncio.run(run())[0]["item_id"] == "item_1"


def test_metadata_come_back_with_the_answer():
    async def run() -> list[dict]:
        connection = Connection(SimpleNamespace(), None, Session())
        await connection.handlers["response.create"]({"response": {"metadata": {"turn": "7"}}})
        await connection.handlers["response.cancel"]({})
        return sent(connection)

    assert [event["response"]["metadata"] for event in asyncio.run(run())] == [{"turn": "7"}] * 2


def test_a_recording_that_fails_is_told_and_the_conversation_goes_on():
    async def fails(_) -> str:
        raise RuntimeError("no memory")

    async def run() -> tuple[dict, str]:
        connection = hearing(SimpleNamespace(transcribe=fails))
        await connection.handlers["input_audio_buffer.commit"]({})
        await asyncio.sleep(0.01)
        return sent(connection)[-1], await words_of(connection.items["item_1"])

    event, words = asyncio.run(run())
    assert event["type"].endswith("transcription.failed") and event["error"]["type"] == "server_error"
    assert words == "" and event["item_id"] == "item_1"


def test_words_do_not_wait_where_pictures_are_read():
    workers = []

    async def work(worker, function, *args):
        workers.append(worker)
        return function(*args)

    async def run() -> None:
        connection = Connection(SimpleNamespace(work=work), None, Session())
        await connection.handlers["conversation.item.create"](said("Hi"))

    asyncio.run(run())
    assert workers == ["listen"]


def test_a_client_that_takes_nothing_is_given_up_although_sending_waits(monkeypatch):
    monkeypatch.setattr(realtime, "MAX_UNSENT", 5)
    monkeypatch.setattr(realtime, "CLOSING", 0.1)
    closed = []

    async def close(*why) -> None:
        closed.append(why)
        await asyncio.Event().wait()  # for room in the socket

    async def run() -> None:
        socket = SimpleNamespace(send_text=for_ever, receive=for_ever, close=close)
        connection = Connection(SimpleNamespace(), socket, Session())
        running = asyncio.create_task(connection.run())
        await asyncio.sleep(0)
        for _ in range(10):
            connection.send("conversation.item.added")
        await asyncio.wait_for(running, 5)

    asyncio.run(run())
    assert closed == [realtime.TOO_SLOW]


async def done(_, function, *args):
    return function(*args)
