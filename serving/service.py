"""Service: one loaded model and what its requests share: the decode loop, worker threads, a queue.

Everything that computes runs in a few threads that never change in number, so memory stays flat.
One decodes, one hears spoken questions (serving/thinking.py), two speak (serving/speaking.py), one
transcribes conversations, searches and traces, and one transcribes uploads, which may be long.
Others prepare prompts, encode sound and watch for speech.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from secrets import token_hex

import numpy as np

from inference.config import GenerateConfig
from inference.media import SAMPLE_RATE
from inference.normalisation import normalise
from inference.omni import Omni
from models.errors import ContextError, UserError
from models.omni import OmniModel
from serving.conversation import Asking, Conversations, Prepared, Recent
from serving.engine import MAX_ROWS, Engine
from serving.errors import ApiError
from serving.metrics import Metrics
from serving.remote import RemoteEngine
from serving.schema import Voice, VoiceId
from serving.speaking import Sentence, SpeechEngine, breaths
from serving.streaming import while_wanted
from serving.thinking import MOST, ThinkingEngine

MODEL = "muomni"
MAX_PIXELS = 64_000_000  # of a picture: 48 megapixels of a phone, 256 MB once opened
SPOKEN = 512  # spoken answers that a client may refer to by id
WORKERS = {  # threads by what they do; those that prepare mostly wait for their batch
    "prepare": MOST, "words": 1, "compute": 1, "encode": 1, "listen": 1, "upload": 1,
}
DEFAULT_VOICES = ("alloy", "default")  # OpenAI's usual name stands for the first voice


@dataclass(frozen=True)
class Speech:
    """How an answer is spoken."""

    voice: str
    speed: float


class Service:
    """What all endpoints use.

    Args:
        max_queue: requests that may wait beside the MAX_ROWS being answered; more get 429.
        thinker_url: of a vLLM that has the Thinker (serving/remote.py); None: it runs here.
    """

    def __init__(self, omni: Omni, max_queue: int, thinker_url: str | None) -> None:
        self.omni = omni
        omni.limits = replace(omni.limits, max_pixels=MAX_PIXELS)
        self.engine = RemoteEngine(omni, thinker_url) if thinker_url else Engine(omni)
        self.voice = SpeechEngine(omni)
        self.thinking = ThinkingEngine(omni, self.engine)
        self.conversations = Conversations(omni, self.thinking)
        self.spoken: Recent = Recent(SPOKEN)  # texts of spoken answers by id
        self.metrics = Metrics()
        self.most = MAX_ROWS + max_queue
        self.busy = 0
        self._voices: list[str] | None = None
        self.sockets = 0  # open realtime sessions
        self.workers = {
            name: ThreadPoolExecutor(threads, thread_name_prefix=name)
            for name, threads in WORKERS.items()
        }

    @property
    def hears(self) -> bool:
        """Whether the checkpoint has more than text."""
        return isinstance(self.omni.model, OmniModel)

    def start(self) -> None:
        """Begin to answer; the voice loads meanwhile."""
        self.engine.start()
        self.thinking.start()
        if self.hears:
            self.voice.start()
            self.workers["encode"].submit(warm_up, self.omni)
            self.workers["compute"].submit(self.omni.transcribe, (WARM_UP, SAMPLE_RATE))

    def close(self) -> None:
        self.engine.close()
        self.thinking.close()
        if self.hears:
            self.voice.close()
        for worker in self.workers.values():
            worker.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def place(self, count: int = 1):
        """Places in the bounded queue for the time of a request, one for each of its answers."""
        if self.busy and self.busy + count > self.most:
            raise ApiError(
                f"the server is busy: {self.busy} answers are being made or wait. Try again soon",
                429, "rate_limit_exceeded",
            )
        self.busy += count
        try:
            yield
        finally:
            self.busy -= count

    async def work(self, worker: str, function: Callable, *args):
        """Run in a worker thread; a UserError becomes the client's error."""
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.workers[worker], function, *args)
        except ContextError as error:
            raise ApiError(str(error), code="context_length_exceeded", param="messages") from None
        except UserError as error:
            raise ApiError(str(error), code="invalid_value") from None

    def config(self, settings: dict) -> GenerateConfig:
        """Settings of an answer, checked."""
        try:
            return self.omni.config(**settings)
        except UserError as error:
            raise ApiError(str(error), code="invalid_value") from None

    async def prepare(
        self, system: str | None, turns: list[Asking], config: GenerateConfig
    ) -> Prepared:
        """The prompt of a conversation."""
        # words do not wait while others' pictures and sounds are read
        worker = "prepare" if any(turn.media for turn in turns) else "words"
        with while_wanted() as check:
            return await self.work(worker, self.conversations.prepare, system, turns, config, check)

    async def voices(self) -> list[str]:
        """Names of voices, the default first; none where the checkpoint is text alone."""
        if not self.hears:
            return []
        if self._voices is None:  # one thread loads it
            self._voices = (await self.work("encode", lambda: self.omni.speaker)).voices
        return self._voices

    async def speech(self, voice: Voice | None, speed: float, under: str = "") -> Speech:
        """How to speak, checked; `under` is what stands before `voice` and `speed` in the request."""
        await self.voices()
        name = voice.id if isinstance(voice, VoiceId) else voice
        name = None if name in DEFAULT_VOICES else name
        for field, value in (("voice", name), ("speed", speed)):
            try:
                self.omni.check_speech(**{field: value})
            except UserError as error:
                raise ApiError(str(error), code="invalid_value", param=under + field) from None
        return Speech(name or self.omni.speaker.voices[0], speed)

    async def speak(self, sentence: str, how: Speech) -> AsyncIterator[np.ndarray]:
        """Sound of a sentence, float32 chunks (samples,) at 16 kHz; none where nothing can be said."""
        try:
            words = normalise(sentence)
        except UserError:
            return
        for part in breaths(words, how.speed):
            async for chunk in self._said(part, how):
                yield chunk

    async def _said(self, words: list[str], how: Speech) -> AsyncIterator[np.ndarray]:
        """The sound of what is said at once."""
        chunks: asyncio.Queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(chunk: np.ndarray | Exception | None) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        sentence = Sentence(words, how.voice, how.speed, deliver)
        self.voice.say(sentence)
        try:
            while (chunk := await chunks.get()) is not None:
                if isinstance(chunk, UserError):
                    raise ApiError(str(chunk), code="invalid_value")
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            sentence.cancelled = True

    async def transcribe(self, source) -> str:
        """The words of a path or of (samples, rate); where nobody waits any more, it is left."""
        with while_wanted() as check:
            words = partial(self.omni.transcribe, source, progress=lambda *_: check())
            return await self.work("compute", words)


# half a second of faint noise: what transcribing needs is loaded before the first person speaks
WARM_UP = np.random.default_rng(0).normal(0, 1e-3, SAMPLE_RATE // 2).astype(np.float32)


def warm_up(omni: Omni) -> None:
    """Load the speaking parts and say a word, so that the first answer's sound does not wait."""
    for _ in omni.speak_stream("Hello."):
        pass


def new_id(prefix: str) -> str:
    """An id as OpenAI's look."""
    return f"{prefix}_{token_hex(12)}"
