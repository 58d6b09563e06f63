"""A request of a thousand mistakes is told of the first: telling of each held up everybody for seconds.

So did parsing a body of ten million values.
"""

import asyncio

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from pydantic import ValidationError

from serving import guard
from serving.errors import ApiError
from serving.realtime_session import Session, parse_event
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


@pytest.mark.parametrize(
    ("kind", "body", "refused"),
    [
        (b"application/json", b"[]," * 60_000, True),
        (b"application/x-www-form-urlencoded", b"a&" * 60_000, True),
        (b"application/json", b'{"text": "' + b"a" * 10**6, False),
        (b"multipart/form-data; boundary=a", b"," * 10**6, False),  # a recording may hold any byte
    ],
)
def test_of_values(kind, body, refused):
    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": True}

    async def run() -> None:
        upload = guard.Upload(receive, [(b"content-type", kind)])
        for _ in range(2):
            await upload.receive()

    if not refused:
        return asyncio.run(run())
    with pytest.raises(ApiError) as caught:
        asyncio.run(run())
    assert caught.value.status == 413


def test_of_an_events_values():
    with pytest.raises(ApiError, match="values"):
        parse_event({"text": '{"type": "fly", "far": [' + "[]," * 200_000 + "0]}"})
