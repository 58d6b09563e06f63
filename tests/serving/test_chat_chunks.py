"""Chunks, choices and errors of a chat completion, without a model."""

import asyncio
import json
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")


from inference.prompt import Prompt
from serving import chat
from serving.answer import Text
from serving.chat import Asked, events
from serving.conversation import Prepared
from serving.errors import ApiError
from serving.schema import ChatBody


class Spoken:
    """Events of an answer of text that ran into its limit."""

    reason, text = "length", ""
    prepared = Prepared(Prompt([1]), "", 2, ["the image ends too soon"])

    def __init__(self, *_, **__):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def __aiter__(self):
        for text in ("A ", "dog"):
            yield Text(text)

    def usage(self):
        return {
            "prompt_tokens": 5,
            "completion_tokens": 2,
            "total_tokens": 7,
            "prompt_tokens_details": {},
        }


def asked(monkeypatch, **more):
    monkeypatch.setattr(chat, "Answer", Spoken)
    body = ChatBody.model_validate({"messages": [{"role": "user", "content": "Hi"}], "n": 2} | more)
    config = SimpleNamespace(seed=None)
    monkeypatch.setattr(chat, "replace", lambda config, **_: config)
    return Asked(body, Prepared(Prompt([1]), "I see.", 0), config, None, 0.0)


def test_a_streams_chunks_are_as_openais(monkeypatch):
    async def run():
        one = asked(monkeypatch, stream=True, stream_options={"include_usage": True})
        return [chunk async for chunk in events(None, one)]

    *chunks, last = asyncio.run(run())
    assert last == b"data: [DONE]\n\n"
    *parsed, usage = [json.loads(chunk[6:]) for chunk in chunks]
    assert usage["choices"] == [] and [
        usage["usage"][k] for k in ("prompt_tokens", "completion_tokens", "total_tokens")
    ] == [5, 4, 9]
    for index in (0, 1):
        mine = [c["choices"][0] for c in parsed if c["choices"][0]["index"] == index]
        assert mine[0]["delta"]["role"] == "assistant" and mine[1]["delta"] == {
            "reasoning_content": "I see."
        }
        assert [c["delta"].get("content") for c in mine[2:-1]] == ["A ", "dog"]
        assert mine[-1]["delta"] == {} and [c["finish_reason"] for c in mine] == [None] * (
            len(mine) - 1
        ) + ["length"]


def test_an_error_within_a_stream_is_told(monkeypatch):
    async def broken(self):
        yield Text("A ")
        raise ApiError("no memory", 500)

    monkeypatch.setattr(Spoken, "__aiter__", broken)

    async def run():
        return [chunk async for chunk in events(None, asked(monkeypatch, stream=True))]

    *_, error, done = asyncio.run(run())
    assert json.loads(error[6:])["error"]["message"] == "no memory" and done == b"data: [DONE]\n\n"


def test_a_whole_answer_has_its_thinking_and_the_tokens_of_all_choices(monkeypatch):
    made = asyncio.run(chat.whole(None, asked(monkeypatch)))
    assert [c["message"]["reasoning_content"] for c in made["choices"]] == ["I see."] * 2
    assert (
        made["usage"]["completion_tokens"] == 4
        and [c["finish_reason"] for c in made["choices"]] == ["length"] * 2
    )


def test_choices_have_seeds_of_their_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(chat, "replace", lambda config, seed: seeds.append(seed))
    monkeypatch.setattr(chat, "Answer", Spoken)
    body = ChatBody.model_validate(
        {"messages": [{"role": "user", "content": "Hi"}], "n": 3, "seed": 7}
    )
    Asked(body, None, SimpleNamespace(seed=7), None, 0.0).answers(None)
    assert seeds == [7, 8, 9]
