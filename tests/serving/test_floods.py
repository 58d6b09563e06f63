"""A request of a thousand mistakes is told of the first: telling of each held up everybody for seconds."""

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from pydantic import ValidationError

from serving.realtime_session import Session
from serving.schema import ChatBody

MANY = {str(i): i for i in range(1000)}
CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
FLOODS = {
    "messages": {"messages": [{}] * 1000},
    "parts": {"messages": [{"role": "user", "content": [{}] * 1000}]},
    "modalities": {"modalities": [0] * 1000},
    "a voice": {"audio": {"voice": MANY}},
    "unknown fields": MANY,
}


@pytest.mark.parametrize("name", FLOODS)
def test_of_a_chat(name):
    with pytest.raises(ValidationError) as caught:
        ChatBody.model_validate(CHAT | FLOODS[name])
    assert caught.value.error_count() <= 2


@pytest.mark.parametrize("values", [MANY, {"audio": MANY}, {"audio": {"output": {"voice": MANY}}}])
def test_of_a_session(values):
    with pytest.raises(ValidationError) as caught:
        Session.model_validate(values)
    assert caught.value.error_count() <= 2
