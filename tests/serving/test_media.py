"""Base64 of attachments: strict, and decoded where nobody waits for it."""

import asyncio
import base64
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference.config import GenerateConfig
from serving import media
from serving.chat import ask
from serving.errors import ApiError
from serving.realtime import Connection
from serving.realtime_session import Session
from serving.schema import ChatBody

URI = f"data:image/png;base64,{base64.b64encode(b'no picture').decode()}"


class Preparing:
    """A service that only prepares, in threads."""

    hears, spoken = True, {}
    conversations = SimpleNamespace(check_pictures=lambda media: None)

    def config(self, settings):
        return GenerateConfig(**settings)

    async def work(self, worker, function, *args):
        return await asyncio.to_thread(function, *args)

    async def prepare(self, system, turns, config):
        return turns


async def of_a_chat():
    parts = [{"type": "image_url", "image_url": {"url": URI}}, {"type": "text", "text": "What?"}]
    body = ChatBody(messages=[{"role": "user", "content": parts}])
    return (await ask(Preparing(), body)).prepared[0].media


async def of_an_item():
    connection = Connection(Preparing(), None, Session())
    content = [{"type": "input_image", "image_url": URI}]
    item = {"id": "a", "type": "message", "role": "user", "content": content}
    await connection.handlers["conversation.item.create"]({"item": item})
    return connection.items["a"].media


@pytest.mark.parametrize("what", [of_a_chat, of_an_item])
def test_the_event_loop_decodes_nothing(what, monkeypatch):
    """30 MB take a while, in which no other request would go on."""
    decode, threads = base64.b64decode, []

    def watched(*args, **settings):
        threads.append(threading.current_thread())
        return decode(*args, **settings)

    monkeypatch.setattr(base64, "b64decode", watched)
    assert asyncio.run(what())[0].content == b"no picture"
    assert threads and threading.main_thread() not in threads


def test_a_long_text_is_decoded_in_pieces(monkeypatch):
    """A call into C lets no other thread go on until it ends."""
    decode, lengths = base64.b64decode, []

    def watched(text, **settings):
        lengths.append(len(text))
        return decode(text, **settings)

    monkeypatch.setattr(base64, "b64decode", watched)
    content = bytes(range(256)) * 8192  # 2 MiB
    text = base64.encodebytes(content).decode()  # with line ends
    assert media.from_base64(text, "a") == content
    assert max(lengths) <= 2**20


@pytest.mark.parametrize("text", ["QUJDQQ==", "QUJDQUI=", "QUJDQUJD", " Q Q\n=\t= "])
def test_pieces_make_the_whole(text, monkeypatch):
    monkeypatch.setattr(media, "PIECE", 4)
    assert media.from_base64(text, "a") == base64.b64decode(text)


@pytest.mark.parametrize("text", ["QQ==QQ==", "QUI=QQ==", "QUI=Q", "QUJDQ", "QUJD=", "=", "@", "ü"])
def test_padding_ends_it(text, monkeypatch):
    monkeypatch.setattr(media, "PIECE", 4)
    with pytest.raises(ApiError, match="not valid base64"):
        media.from_base64(text, "a")
