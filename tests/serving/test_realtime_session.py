"""A realtime session by its documented rules, without a model."""

import asyncio
import base64
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")


from serving.activity import RATE, Started
from serving.errors import ApiError
from serving.realtime import MAX_BUFFER, Connection
from serving.realtime_items import Item, turns_of
from serving.realtime_response import Response
from serving.realtime_session import ResponseSettings, Session, parse_event, updated
from tests.serving.test_chat_chunks import Spoken


class Hearing:
    """A service that hears the same words in every recording."""

    conversations = SimpleNamespace(check_pictures=len)

    async def work(self, worker, function, *args):
        return function(*args)

    async def transcribe(self, source):
        self.heard = len(source[0])
        return "Hello."

    place = staticmethod(nullcontext)


def session(**given):
    connection = Connection(Hearing(), None, updated(Session(), given))
    connection.started = []
    connection.start_response = connection.started.append
    return connection


def hears(connection, probabilities):
    script = iter(probabilities)
    connection.detector.model = SimpleNamespace(process_samples=lambda _: next(script, 0))


def sent(connection):
    return [connection.unsent.get_nowait() for _ in range(connection.unsent.qsize())]


async def append(connection, seconds):
    sound = base64.b64encode(bytes(2 * int(24_000 * seconds))).decode()
    for _ in range(10):
        await connection.handlers["input_audio_buffer.append"]({"audio": sound})


def detection(**more):
    return {"audio": {"input": {"turn_detection": more}}}


@pytest.mark.parametrize("answers", [True, False])
def test_a_turn_is_told_in_order_with_its_times_and_answered_if_asked(answers):
    async def run():
        connection = session(**detection(create_response=answers))
        hears(connection, [0] * 32 + [1] * 32 + [0] * 40)  # 1 s, 1 s, 1.3 s
        await append(connection, 0.33)
        await asyncio.gather(*connection.tasks)
        return connection, sent(connection)

    connection, told = asyncio.run(run())
    kinds = [
        one["type"].removeprefix("input_audio_buffer.").removeprefix("conversation.item.")
        for one in told
    ]
    assert kinds == [
        "speech_started",
        "speech_stopped",
        "committed",
        "added",
        "done",
        "input_audio_transcription.completed",
    ]
    assert abs(told[0]["audio_start_ms"] - 1024) < 40 and abs(told[1]["audio_end_ms"] - 2048) < 40
    assert len({one["item_id"] for one in told[:3]}) == 1
    assert len(connection.started) == answers
    assert (
        abs(connection.service.heard / 16 - (1024 + 300 + 96)) < 60
    )  # ms: speech, what is before it, its tail


def test_times_count_from_the_first_sample_of_the_session():
    async def run():
        connection = session()
        hears(connection, [])
        await append(connection, 0.1)
        await connection.handlers["session.update"](
            {"session": {"audio": {"input": {"turn_detection": {"silence_duration_ms": 400}}}}}
        )
        hears(connection, [0] * 10 + [1] * 30)
        sent(connection)
        await append(connection, 0.1)
        return sent(connection)

    async def speech(*_):
        return SimpleNamespace(voice="a")

    Hearing.speech = staticmethod(speech)
    (started,) = [one for one in asyncio.run(run()) if one["type"].endswith("speech_started")]
    assert abs(started["audio_start_ms"] - 1320) < 60


def test_speech_stops_an_answer_that_may_be_interrupted_alone():
    async def run(interrupts):
        connection = session(**detection(interrupt_response=interrupts))
        stopped = []

        async def stop(reason):
            stopped.append(reason)

        connection.stop_response = stop
        await connection._heard(Started(0))
        return stopped

    assert asyncio.run(run(True)) == ["turn_detected"] and asyncio.run(run(False)) == []


def test_an_hour_of_silence_fills_no_buffer_and_a_minute_that_is_not_committed_does():
    async def run(**given):
        connection = session(**given)
        if connection.detector:
            hears(connection, [])
        await append(connection, 6.1)
        return len(connection.buffer)

    assert asyncio.run(run()) < RATE
    with pytest.raises(ApiError, match="60 s"):
        asyncio.run(run(**{"audio": {"input": {"turn_detection": None}}}))
    assert MAX_BUFFER == 60 * RATE


def test_no_transcript_where_none_is_wanted():
    async def run():
        connection = session(audio={"input": {"transcription": None}})
        connection.buffer = np.zeros(RATE, np.float32)
        await connection.handlers["input_audio_buffer.commit"]({})
        await asyncio.gather(*connection.tasks)
        return [one["type"] for one in sent(connection)]

    assert not [kind for kind in asyncio.run(run()) if "transcription" in kind]


def test_what_an_event_may_not_ask():
    async def run(kind, event):
        connection = Connection(Hearing(), None, Session())
        connection.response = SimpleNamespace(ended=False, id="resp_1", cancel=None)
        with pytest.raises(ApiError) as caught:
            await connection.handlers[kind](event)
        return caught.value

    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    assert (
        asyncio.run(run("conversation.item.create", {"item": item, "previous_item_id": "a"})).param
        == "previous_item_id"
    )
    assert "active" in asyncio.run(run("response.create", {})).code
    assert "not_active" in asyncio.run(run("response.cancel", {"response_id": "resp_2"})).code
    with pytest.raises(ApiError):
        updated(Session(), {"max_output_tokens": 4097})


def test_user_items_that_follow_each_other_are_one_turn():
    items = [
        Item("a", "user", "One."),
        Item("b", "user", "Two."),
        Item("c", "assistant", "Three."),
        Item("d", "user", "Four."),
        Item("e", "system", "Be kind."),
    ]
    system, turns = asyncio.run(turns_of(items))
    assert system == ["Be kind."] and [(t.text, t.reply) for t in turns] == [
        ("One. Two.", "Three."),
        ("Four.", None),
    ]


def test_an_answer_takes_its_own_settings_before_the_sessions():
    async def run():
        connection = Connection(Hearing(), None, Session(instructions="Be short."))
        return Response(
            connection,
            ResponseSettings.model_validate(
                {
                    "output_modalities": ["text"],
                    "instructions": "Be kind.",
                    "audio": {"output": {"voice": "emma"}},
                }
            ),
        ), Response(connection, ResponseSettings())

    one, usual = asyncio.run(run())
    assert (one.speaks, one.instructions, one.voice) == (False, "Be kind.", "emma")
    assert (usual.speaks, usual.instructions) == (True, "Be short.")


@pytest.mark.parametrize("speaks", [True, False])
def test_words_of_a_realtime_answer_have_the_kind_of_its_modality(speaks, monkeypatch):
    monkeypatch.setattr("serving.realtime_response.Answer", Spoken)

    async def run():
        service = Hearing()
        service.config, service.engine = (lambda _: None), None

        async def prepare(*_):
            return None

        async def speech(*_):
            return None

        service.prepare, service.speech = prepare, speech
        connection = Connection(
            service, None, Session(output_modalities=["audio" if speaks else "text"])
        )
        connection.items["a"] = Item("a", "user", "Hi")
        connection.start_response(ResponseSettings())
        await connection.response.task
        return sent(connection)

    told = asyncio.run(run())
    kind = "response.output_audio_transcript.delta" if speaks else "response.output_text.delta"
    assert [one["delta"] for one in told if one["type"] == kind] == ["A ", "dog"]
    done = told[-1]["response"]
    assert (
        done["status"] == "incomplete" and done["status_details"]["reason"] == "max_output_tokens"
    )
    assert done["usage"]["total_tokens"] == 7
    assert (done["dropped_turns"], done["notices"]) == (2, ["the image ends too soon"])


def answering(connection, monkeypatch):
    """The connection's answers are `Spoken`'s."""
    monkeypatch.setattr("serving.realtime_response.Answer", Spoken)
    service = connection.service
    service.config, service.engine = (lambda _: None), None

    async def nothing(*_):
        return None

    service.prepare = service.speech = nothing


def message(text: str) -> dict:
    return {"item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}}


def test_what_comes_while_an_answer_begins_is_still_to_be_answered(monkeypatch):
    async def run():
        connection = Connection(Hearing(), None, Session(output_modalities=["text"]))
        answering(connection, monkeypatch)
        await connection.handlers["conversation.item.create"](message("One?"))
        await connection.handlers["response.create"]({})
        await connection.handlers["conversation.item.create"](message("Two?"))
        await connection.response.task
        await connection.handlers["response.create"]({})
        await connection.response.task
        added = [one for one in sent(connection) if one["type"] == "conversation.item.added"]
        return list(connection.items.values()), added

    items, added = asyncio.run(run())
    assert [(i.role, i.text) for i in items] == [
        ("user", "One?"), ("assistant", "A dog"), ("user", "Two?"), ("assistant", "A dog"),
    ]
    assert added[2]["previous_item_id"] == items[0].id and added[3]["previous_item_id"] == items[2].id


def test_what_is_made_of_an_answer_after_it_was_truncated_was_not_heard(monkeypatch):
    async def run():
        connection = Connection(Hearing(), None, Session(output_modalities=["audio"]))
        answering(connection, monkeypatch)
        await connection.handlers["conversation.item.create"](message("One?"))
        kept = connection.send

        def send(kind, **fields):
            kept(kind, **fields)
            if kind.endswith("transcript.delta") and fields["delta"] == "A ":
                connection.response.item.truncate(0)

        connection.send = send
        await connection.handlers["response.create"]({})
        await connection.response.task
        return connection.response.item, sent(connection)

    item, told = asyncio.run(run())
    assert item.text == ""
    assert [one["delta"] for one in told if "delta" in one] == ["A ", "dog"]
    (done,) = [one for one in told if one["type"].endswith("transcript.done")]
    assert done["transcript"] == ""


def test_who_speaks_while_settings_change_goes_on():
    async def speech(*_):
        return SimpleNamespace(voice="a")

    async def run():
        connection = session()
        connection.service.speech = speech
        hears(connection, [1] * 6 + [0] * 40)
        await append(connection, 0.02)  # 0.2 s
        new = detection(silence_duration_ms=400, threshold=0.6)
        await connection.handlers["session.update"]({"session": new})
        assert (connection.detector.silence_ms, connection.detector.threshold) == (400, 0.6)
        await append(connection, 0.1)
        await asyncio.gather(*connection.tasks)
        told = [one for one in sent(connection) if one["type"].startswith("input_audio_buffer.")]
        none = {"audio": {"input": {"turn_detection": None}}}
        await connection.handlers["session.update"]({"session": none})
        return told, connection.detector

    told, detector = asyncio.run(run())
    assert [one["type"].rsplit(".")[-1] for one in told] == ["speech_started", "speech_stopped", "committed"]
    assert len({one["item_id"] for one in told}) == 1 and detector is None


def test_a_tenth_of_a_second_is_enough_for_a_commit():
    async def run(samples):
        connection = session(audio={"input": {"turn_detection": None}})
        sound = base64.b64encode(bytes(2 * samples)).decode()
        await connection.handlers["input_audio_buffer.append"]({"audio": sound})
        await connection.handlers["input_audio_buffer.commit"]({})

    asyncio.run(run(2400))
    with pytest.raises(ApiError, match="at least 100 ms"):
        asyncio.run(run(2300))


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_what_json_has_no_number_for_is_refused(number):
    with pytest.raises(ApiError, match="JSON"):
        parse_event({"text": '{"type": "a", "b": ' + number + "}"})
    assert parse_event({"text": '{"type": "a", "b": 1.5e3}'})["b"] == 1500

