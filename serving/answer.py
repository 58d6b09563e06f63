"""Answer: one reply while it is made, as events: text, its sound, and why it ended.

Text and sound are made beside each other; leaving the context cancels both.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from inference.beams import beams_for
from inference.config import GenerateConfig
from inference.generation import generate_batch
from inference.media import SAMPLE_RATE
from inference.sentences import split_sentences
from inference.stopping import Cut
from models.errors import UserError
from models.omni import NO_SPEECH
from serving.conversation import Prepared
from serving.engine import End, Job, Token
from serving.errors import ApiError
from serving.service import Service, Speech
from serving.streaming import drained, finished, produced


@dataclass
class Text:
    """Words as they were settled, and the tokens since the last ones."""

    text: str
    tokens: list[Token] = field(default_factory=list)


@dataclass
class Sound:
    """float32 (samples,) at 16 kHz, of the sentence that ends before a character of the text."""

    samples: np.ndarray
    end: int = 0


class TextStream:
    """Text of tokens as they come, up to the first stop string; `push` as `Omni.text` would give."""

    def __init__(self, tokenizer, stops: tuple[str, ...]) -> None:
        self.decoder, self.text = tokenizer.stream_decoder(), Cut(stops)

    def push(self, token: int) -> str:
        return self.text.push(self.decoder.push(token))

    def finish(self) -> str:
        return self.text.push(self.decoder.flush(), last=True)


class Answer:
    """One reply to a prepared conversation; iterate over it within its context."""

    def __init__(
        self,
        service: Service,
        prepared: Prepared,
        config: GenerateConfig,
        speech: Speech | None = None,
        top_logprobs: int | None = None,
        *,
        began: float,
    ) -> None:
        self.service, self.prepared, self.config = service, prepared, config
        self.speech, self.began = speech, began
        self.text = ""
        self.reason = "stop"
        self.events: asyncio.Queue = asyncio.Queue()
        self.spoken: asyncio.Queue = asyncio.Queue()  # sentences, then None
        self.tokens: asyncio.Queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(event: Token | End) -> None:
            loop.call_soon_threadsafe(self.tokens.put_nowait, event)

        self.job = Job(prepared.prompt, config, deliver, top_logprobs)
        self.tasks: list[asyncio.Task] = []

    async def __aenter__(self) -> "Answer":
        work = [self._write(), *([self._say()] if self.speech else [])]
        self.tasks = [asyncio.create_task(produced(self.events, one)) for one in work]
        return self

    async def __aexit__(self, *_) -> None:
        self.service.engine.cancel(self.job)
        await finished(*self.tasks)

    def __aiter__(self) -> AsyncIterator[Text | Sound]:
        """Events until text and sound have ended."""
        return drained(self.events, len(self.tasks))

    async def _write(self) -> None:
        """Make the text."""
        stream = TextStream(self.service.omni.tokenizer, self.config.stop_strings)
        said, new, first = 0, [], True
        async for token in self._tokens():
            if first:
                self.service.metrics.first_token.observe(perf_counter() - self.began)
                first = False
            new.append(token)
            if text := stream.push(token.id):
                said = self._settle(text, new, said)
                new = []
        if (text := stream.finish()) or new:
            said = self._settle(text, new, said)
        if stream.text.stopped:
            self.reason = "stop"
        for sentence in split_sentences(self.text)[said:]:
            self.spoken.put_nowait(sentence)
        self.spoken.put_nowait(None)
        self.service.conversations.remember(self.job.reply)

    def _settle(self, text: str, tokens: list[Token], said: int) -> int:
        """Pass text on, and sentences that are whole -> how many have been."""
        self.text += text
        self.events.put_nowait(Text(text, tokens))
        if not self.speech:
            return said
        whole = split_sentences(self.text)[:-1]  # the last may go on
        for sentence in whole[said:]:
            self.spoken.put_nowait(sentence)
        return max(said, len(whole))

    async def _tokens(self) -> AsyncIterator[Token]:
        """The reply's tokens: of the shared loop, or of a search of its own where a sound asks."""
        metrics = self.service.metrics
        metrics.prompt_tokens.inc(len(self.prepared.prompt))
        silent, most = self.prepared.silent, self.config.max_new_tokens
        if silent or beams_for(self.config, self.prepared.prompt) > 1:
            fixed = self.service.omni.tokenizer.encode(NO_SPEECH)[:most] if silent else None
            self.job.reply = fixed or await self.service.work("compute", self._search)
            for token in self.job.reply:
                yield Token(token, 0.0 if silent else None)  # 0: certain, no model chose it
            room = self.service.engine.capacity - len(self.prepared.prompt)
            self.reason = "length" if len(self.job.reply) >= min(most, room) else "stop"
        else:
            self.service.engine.submit(self.job)
            while isinstance(event := await self.tokens.get(), Token):
                yield event
            if event.error is not None:
                raise self._error(event.error)
            self.reason = event.reason
        metrics.cached_tokens.inc(self.job.cached)
        metrics.tokens.inc(len(self.job.reply))

    def _search(self) -> list[int]:
        omni = self.service.omni
        return generate_batch(omni.model, [self.prepared.prompt], self.config, omni.tokenizer)[0]

    def _error(self, error: Exception) -> ApiError:
        if isinstance(error, UserError):
            return ApiError(str(error), code="invalid_value")
        return ApiError("the answer could not be made: the server logged why", 500)

    async def _say(self) -> None:
        """Make the sound, sentence by sentence."""
        first, end = True, 0
        while (sentence := await self.spoken.get()) is not None:
            end = max(end, self.text.find(sentence, end)) + len(sentence)
            async for chunk in self.service.speak(sentence, self.speech):
                if first:
                    self.service.metrics.first_sound.observe(perf_counter() - self.began)
                    first = False
                self.service.metrics.audio_seconds.inc(len(chunk) / SAMPLE_RATE)
                self.events.put_nowait(Sound(chunk, end))

    def usage(self) -> dict:
        """Tokens, as OpenAI counts them."""
        prompt, reply = len(self.prepared.prompt), len(self.job.reply)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": reply,
            "total_tokens": prompt + reply,
            "prompt_tokens_details": {"cached_tokens": self.job.cached},
        }
