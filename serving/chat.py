"""`POST /v1/chat/completions`: text, pictures, sounds and videos in; text and speech out."""

import asyncio
import base64
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from starlette.requests import Request

from inference.config import GenerateConfig
from serving.answer import Answer, Sound
from serving.conversation import Prepared, parse
from serving.encoding import encode_all, encoder
from serving.engine import Token
from serving.errors import ApiError
from serving.schema import ChatBody
from serving.service import MODEL, Service, Speech, new_id
from serving.streaming import Streamed, drained, finished, produced, unless_gone

SPOKEN_SECONDS = 3600  # how long a spoken answer's id is said to be valid

log = logging.getLogger("serving")


@dataclass
class Asked:
    """A checked request, ready to be answered."""

    body: ChatBody
    prepared: Prepared
    config: GenerateConfig
    speech: Speech | None
    began: float
    id: str = field(default_factory=lambda: new_id("chatcmpl"))
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def top(self) -> int | None:
        return (self.body.top_logprobs or 0) if self.body.logprobs else None

    def answers(self, service: Service) -> list[Answer]:
        """One answer a choice. The first has the seed asked for, further ones the next seeds."""
        made = []
        for i in range(self.body.n or 1):
            seed = None if self.config.seed is None else (self.config.seed + i) % 2**63
            config = replace(self.config, seed=seed)
            made.append(
                Answer(service, self.prepared, config, self.speech, self.top, began=self.began)
            )
        return made


async def complete(service: Service, body: ChatBody, request: Request):
    """The response: a dict, or a stream of chunks."""
    with ExitStack() as stack:
        stack.enter_context(service.place(body.n or 1))
        asked = await unless_gone(request, ask(service, body))
        if body.stream:  # the stream lets go of its place
            chunks = events(service, asked)
            return Streamed(chunks, "text/event-stream", stack.pop_all(), service.metrics)
        return await unless_gone(request, whole(service, asked))


async def ask(service: Service, body: ChatBody) -> Asked:
    """Check a request and make its prompt."""
    began = perf_counter()
    config = service.config(body.settings())
    if body.speaks and body.audio is None:
        raise ApiError("modalities with audio need audio: {voice, format}", param="audio")
    if body.speaks and not service.hears:
        raise ApiError("this checkpoint is text alone: it does not speak", param="modalities")
    speech = None
    if body.speaks:
        speech = await service.speech(body.audio.voice, body.audio.speed, "audio.")
    parts = [part for one in body.messages if isinstance(one.content, list) for part in one.content]
    worker = "words" if all(part.type == "text" for part in parts) else "prepare"
    system, turns = await service.work(worker, parse, body.messages, service.spoken)
    prepared = await service.prepare(system, turns, config)
    if body.logprobs:
        config = replace(config, num_beams=1)  # of a search there are no probabilities of each token
    return Asked(body, prepared, config, speech, began)


# ---- at once


async def whole(service: Service, asked: Asked) -> dict:
    """The completion as one object."""
    answers = asked.answers(service)
    tasks = [asyncio.create_task(choice(service, asked, i, one)) for i, one in enumerate(answers)]
    try:
        choices = await asyncio.gather(*tasks)
    finally:
        await finished(*tasks)
    return heading(asked, "chat.completion") | {"choices": choices, "usage": usage(answers)}


async def choice(service: Service, asked: Asked, index: int, answer: Answer) -> dict:
    """One choice of it."""
    sounds: list[np.ndarray] = []
    tokens: list[Token] = []
    async with answer:
        async for event in answer:
            if isinstance(event, Sound):
                sounds.append(event.samples)
            else:
                tokens += event.tokens
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    if asked.prepared.thinking:
        message["reasoning_content"] = asked.prepared.thinking
    if asked.speech:
        form = asked.body.audio.format
        made = await service.work("encode", encode_all, sounds, form)
        audio = spoken(service, answer.text) | {"data": base64.b64encode(made).decode()}
        message |= {"content": None, "audio": audio | {"transcript": answer.text}}
    return {
        "index": index,
        "message": message,
        "logprobs": logprobs(service, tokens) if asked.body.logprobs else None,
        "finish_reason": answer.reason,
    }


def spoken(service: Service, text: str) -> dict:
    """The id by which a spoken answer can be referred to later, and until when."""
    name = new_id("audio")
    service.spoken.put(name, text)
    return {"id": name, "expires_at": int(time.time()) + SPOKEN_SECONDS}


# ---- as it is made


async def events(service: Service, asked: Asked) -> AsyncIterator[bytes]:
    """The completion as server-sent events."""
    answers = asked.answers(service)
    counts = asked.body.stream_options is not None and asked.body.stream_options.include_usage
    none_yet = {"usage": None} if counts else {}
    queue: asyncio.Queue = asyncio.Queue()
    tasks = [
        asyncio.create_task(produced(queue, into(queue, deltas(service, asked, i, one))))
        for i, one in enumerate(answers)
    ]
    try:
        async for event in drained(queue, len(tasks)):
            yield sse(heading(asked, "chat.completion.chunk") | {"choices": [event]} | none_yet)
        if counts:
            last = {"choices": [], "usage": usage(answers)}
            yield sse(heading(asked, "chat.completion.chunk") | last)
    except ApiError as error:
        yield sse(error.body())
    except Exception:
        log.exception("a stream failed")
        yield sse(ApiError("the answer could not be made: the server logged why", 500).body())
    finally:
        await finished(*tasks)
    yield b"data: [DONE]\n\n"


async def into(queue: asyncio.Queue, items: AsyncIterator) -> None:
    """Put all items into a queue."""
    async for item in items:
        queue.put_nowait(item)


async def deltas(service: Service, asked: Asked, index: int, answer: Answer) -> AsyncIterator[dict]:
    """One choice in pieces."""

    def piece(delta: dict, reason: str | None = None, tokens: list[Token] = ()) -> dict:
        scores = logprobs(service, tokens) if asked.body.logprobs and tokens else None
        return {"index": index, "delta": delta, "logprobs": scores, "finish_reason": reason}

    form = encoder(asked.body.audio.format) if asked.speech else None
    yield piece({"role": "assistant", "content": None if form else "", "refusal": None})
    if asked.prepared.thinking:
        yield piece({"reasoning_content": asked.prepared.thinking})
    async with answer:
        async for event in answer:
            if isinstance(event, Sound):
                yield piece(sound_delta(form.push(event.samples)))
            elif form:
                yield piece({"audio": {"transcript": event.text}}, tokens=event.tokens)
            else:
                yield piece({"content": event.text}, tokens=event.tokens)
    if form:
        yield piece(sound_delta(form.finish()))
        yield piece({"audio": spoken(service, answer.text)})
    yield piece({}, answer.reason)


def sound_delta(data: bytes) -> dict:
    return {"audio": {"data": base64.b64encode(data).decode()}}


def sse(value: dict) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


# ---- parts of both


def heading(asked: Asked, kind: str) -> dict:
    """What opens a completion and each of its chunks."""
    opened = {"id": asked.id, "object": kind, "created": asked.created, "model": MODEL}
    if asked.prepared.dropped:
        opened["dropped_turns"] = asked.prepared.dropped
    if asked.prepared.notices:
        opened["notices"] = asked.prepared.notices
    return opened


def usage(answers: list[Answer]) -> dict:
    """Tokens of all choices; their prompt counts once."""
    counts = [answer.usage() for answer in answers]
    total = dict(counts[0])
    total["completion_tokens"] = sum(count["completion_tokens"] for count in counts)
    total["total_tokens"] = total["prompt_tokens"] + total["completion_tokens"]
    return total


def logprobs(service: Service, tokens: list[Token]) -> dict:
    """Log-probabilities of tokens and of the likeliest in their places."""
    tokenizer = service.omni.tokenizer

    def scored(token: int, logprob: float) -> dict:
        data = tokenizer.piece_bytes(token, skip_special=False)
        text = data.decode("utf-8", "backslashreplace")
        return {"token": text, "logprob": max(logprob, -9999.0), "bytes": list(data)}

    content = [
        scored(one.id, one.logprob) | {"top_logprobs": [scored(*each) for each in one.top]}
        for one in tokens
    ]
    return {"content": content, "refusal": None}
