"""What is refused is told so that the client can read it, and what was left out of an answer is said."""

import asyncio
import base64
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")
pytest.importorskip("websockets.sync.client", reason="no websockets: requirements-dev.txt")

from websockets.sync.client import connect

from serving.errors import ApiError
from serving.guard import MAX_BODY, Guard
from tests.serving.test_bad_input import chat, part, post

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_who_sends_too_much_reads_that_it_was(port, framing):
    """Cut off while it sends, a client gets a broken connection in place of the status."""
    size = MAX_BODY + 2**23
    with socket.create_connection(("127.0.0.1", port), 60) as wire:
        head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if framing == "length":
            wire.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode() + bytes(size))
        else:
            wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(size // 2**20):
                wire.sendall(b"100000\r\n" + bytes(2**20) + b"\r\n")
            wire.sendall(b"0\r\n\r\n")
        wire.settimeout(60)
        reply = b""
        while block := wire.recv(65_536):
            reply += block
    assert b" 413 " in reply and reply.endswith(b"}") and b"32 MB" in reply


@pytest.mark.parametrize("kind", [None, "text/plain"])
def test_a_body_by_another_name_is_told_its_name(port, kind):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/chat/completions", b"{}", {"Content-Type": kind} if kind else {})
    response = connection.getresponse()
    assert response.status == 400 and b"Content-Type: application/json" in response.read()


@pytest.mark.parametrize("body", [b"[" * 200_000, b"\xff", b'{"n": ' + b"9" * 5000 + b"}"])
def test_what_cannot_be_parsed_is_no_json(port, body):
    status, reply = post(port, body)
    assert (status, reply["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("path", ["/v1/realtime/", "/v1/nix", "/"])
def test_there_is_one_websocket(port, path):
    with pytest.raises(Exception, match="404"), connect(f"ws://127.0.0.1:{port}{path}"):
        pass


def test_a_wrong_method_is_told_the_right_one(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("DELETE", "/health")
    assert "GET" in connection.getresponse().headers["Allow"]


def test_an_old_turn_that_is_longer_than_the_context_is_dropped(port):
    old = [{"role": "user", "content": "dog " * 2000}, {"role": "assistant", "content": "Yes."}]
    body = chat("What is a dog?")
    status, reply = post(port, body | {"messages": old + body["messages"]})
    assert status == 200 and reply["dropped_turns"] == 1
    status, reply = post(port, body | {"messages": old[:1]})
    assert (status, reply["error"]["code"]) == (400, "context_length_exceeded")


def test_what_of_a_file_was_not_read_is_told_to_who_sent_it(port):
    whole = (ROOT / "examples/sample_image.png").read_bytes()
    content = [*part("data:image/png;base64," + base64.b64encode(whole[: len(whole) // 2]).decode()),
               {"type": "text", "text": "What do you see?"}]
    for _ in range(2):  # the second time the turn is known
        _, reply = post(port, chat(content))
        (notice,) = reply["notices"]
        assert notice.startswith("the image ends too soon"), notice
    assert "notices" not in post(port, chat("What is a dog?"))[1]


def test_a_medium_at_fault_is_named_by_its_place(port):
    content = [{"type": "text", "text": "Hi"}, *part("data:image/png;base64,AAAA")]
    _, reply = post(port, chat(content))
    assert reply["error"]["param"] == "messages[0].content[1].image_url"
    _, reply = post(port, chat(""))
    assert reply["error"]["code"] == "invalid_value"  # no medium is


def test_an_answer_that_a_stop_cuts_short_says_so():
    async def cancelled(*_):
        raise asyncio.CancelledError

    async def run():
        sent = []

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "path": "/v1/models", "headers": [(b"host", b"127.0.0.1")]}
        await Guard(cancelled, None, True)(scope, asyncio.Event().wait, send)
        return sent

    start, body, end = asyncio.run(run())
    assert start["status"] == 503 and b"server_error" in body["body"] and not end["more_body"]


def test_the_client_of_a_refused_session_is_told_when_to_come_again():
    assert ApiError("busy", 429).headers() == {"Retry-After": "1"}
