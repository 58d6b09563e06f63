"""Events of a realtime session, without a socket or a model."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from serving.realtime import Connection
from serving.realtime_session import Session


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
