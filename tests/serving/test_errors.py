"""What is wrong with a request is told by the field and the rule, not by pydantic's names."""

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from pydantic import ValidationError

from inference.config import GenerateConfig
from serving.errors import ApiError, invalid
from serving.realtime_session import Session, updated
from serving.schema import ChatBody, SpeechBody

USER = {"messages": [{"role": "user", "content": "Hi"}]}
WRONG = [
    (ChatBody, USER | {"stop": list("abcde")}, "stop", "at most 4 items"),
    (ChatBody, USER | {"audio": {"voice": {"name": "emma"}}}, "audio.voice.id", "required"),
    (ChatBody, {"messages": [{"role": "user", "content": [{}]}]}, "messages.0.content.0.type", "required"),
    (ChatBody, {"messages": [{"role": "user", "content": 5}]}, "messages.0.content", "valid string"),
    (ChatBody, {"messages": [{"role": "user", "content": "a" * 1000001}]}, "messages.0.content", "at most"),
    (ChatBody, USER | {"tools": [{}]}, "tools", "the parameter 'tools' is not supported here"),
    (ChatBody, USER | {"response_format": {}}, "response_format", "is not supported here"),
    (ChatBody, USER | {"ma{what}gic": 1}, "ma{what}gic", "the parameter 'ma{what}gic' is unknown"),
    (ChatBody, USER | {"top_logprobs": 2}, "top_logprobs", "needs logprobs"),
    (ChatBody, USER | {"stream_options": {}}, "stream_options", "needs stream"),
    (ChatBody, USER | {"stop": ""}, "stop", "at least 1 character"),
    (ChatBody, USER | {"stop": ["a", ""]}, "stop.1", "at least 1 character"),
    (ChatBody, USER | {"max_tokens": 2**31}, "max_tokens", "less than or equal"),
    (ChatBody, USER | {"max_completion_tokens": 10**20}, "max_completion_tokens", "less than or equal"),
    (ChatBody, USER | {"top_k": 2**31}, "top_k", "less than or equal"),
    (SpeechBody, {"input": ""}, "input", "at least 1 character"),
]


@pytest.mark.parametrize(("kind", "body", "param", "words"), WRONG)
def test_the_most_telling_mistake_is_told(kind, body, param, words):
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(body)
    error = invalid(caught.value.errors())
    assert error.param == param and words in error.message


def test_of_a_session_too():
    for values, param in (
        ({"max_output_tokens": 0}, "session.max_output_tokens"),
        ({"audio": {"output": {"voice": 5}}}, "session.audio.output.voice"),
        ({"tracing": "auto"}, "session.tracing"),
    ):
        with pytest.raises(ApiError) as caught:
            updated(Session(), values)
        assert caught.value.param == param


@pytest.mark.parametrize("given", [{}, {"top_k": 5}])
def test_top_p_0_leaves_the_likeliest_token(given):
    settings = ChatBody.model_validate(USER | {"top_p": 0, "temperature": 1} | given).settings()
    assert GenerateConfig(**settings) == GenerateConfig(top_k=1, temperature=1.0)


def test_what_changes_no_answer_is_passed_over():
    for name in ("user", "store", "metadata", "prompt_cache_retention", "prompt_cache_options"):
        ChatBody.model_validate(USER | {name: {"any": "thing"}})
