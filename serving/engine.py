"""The decode loop that all requests share (continuous batching).

One thread owns the model's decoding. Between steps it admits waiting requests, as many as there are
free rows, and retires those that have ended or whose client has gone. A row's tokens are handed
over at once and never waited for: a slow client holds nobody up.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.generation import context_length, prefill
from inference.omni import Omni
from inference.prompt import Prompt
from inference.runner import Runner
from inference.sampling import adjust, first_seen, likeliest_is_chosen, make_generators, sample
from inference.stopping import StopWatch
from models.cache import KVCache
from models.omni import thinker_of
from serving.prefix import PrefixStore, marks_of, rest
from serving.rows import RowCache
from serving.worker import Worker

MAX_ROWS = 8  # what the compiled step takes at once
READING = 0.05  # seconds between two steps in which prompts are read: the longest that answers wait for them
PREFIX_BYTES = 96 * 2**20  # kept caches: at 6 KiB a token, 16 full contexts of the tiny model

log = logging.getLogger("serving")


@dataclass
class Token:
    """One token of an answer."""

    id: int
    logprob: float | None = None  # natural logarithm, where asked for
    top: list[tuple[int, float]] = field(default_factory=list)  # the likeliest, where asked for


@dataclass
class End:
    """Why an answer ended: stop, length, cancelled or error."""

    reason: str
    error: Exception | None = None


@dataclass(eq=False)  # jobs are told apart by identity
class Job:
    """One answer to be made.

    `deliver` is called in the engine's thread with each Token, then once with an End.
    """

    prompt: Prompt
    config: GenerateConfig
    deliver: Callable[[Token | End], None]
    top_logprobs: int | None = None  # None: no log-probabilities
    thinks: bool = False  # its client waits for the first word that comes after it
    cancelled: bool = False
    cached: int = 0  # tokens of the prompt that were not read again
    marks: list[int] = field(default_factory=list)
    reply: list[int] = field(default_factory=list)

    def begin(self, tokenizer, capacity: int) -> None:
        """Prepare to take tokens."""
        self.watch = StopWatch(self.config.stop_strings, tokenizer)
        self.most = min(self.config.max_new_tokens, capacity - len(self.prompt))

    def start(self, tokenizer, capacity: int, logits: Tensor) -> None:
        """Prepare to choose tokens, from the prompt's last logits (1, V)."""
        self.begin(tokenizer, capacity)
        self.generators = make_generators(self.config.seed, 1)
        self.seen = first_seen([self.prompt.ids], logits, self.config)

    def choose(self, logits: Tensor, likeliest: int | None) -> str | None:
        """Choose the next token from logits (1, V) -> why the answer has ended, or None."""
        if likeliest is not None and likeliest_is_chosen([likeliest], self.config):
            token = likeliest
        else:
            token = int(sample(logits, self.config, self.generators, self.seen))
        if token == self.config.eos_token_id:
            return "stop"
        if self.seen is not None:
            self.seen[0, token] = True
        return self.add(self._scored(token, logits))

    def add(self, token: Token) -> str | None:
        """Take a token over -> why the answer has ended, or None."""
        self.reply.append(token.id)
        self.deliver(token)
        if self.watch.push(token.id):
            return "stop"
        return "length" if len(self.reply) >= self.most else None

    def _scored(self, token: int, logits: Tensor) -> Token:
        if self.top_logprobs is None:
            return Token(token)
        plain = GenerateConfig(suppress_tokens=self.config.suppress_tokens)
        scores = adjust(logits.float(), plain)[0].log_softmax(-1)  # (V,)
        best = scores.topk(self.top_logprobs) if self.top_logprobs else None
        top = [] if best is None else list(zip(best.indices.tolist(), best.values.tolist()))
        return Token(token, float(scores[token]), top)


class Engine(Worker):
    """Answers jobs, MAX_ROWS at a time; others wait in the order they came."""

    def __init__(self, omni: Omni) -> None:
        self.omni, self.model = omni, omni.model
        self.config = omni.config()
        self.capacity = context_length(self.model, self.config)
        self.rows = RowCache(thinker_of(self.model), MAX_ROWS, self.capacity, self.config)
        self.prefixes = PrefixStore(PREFIX_BYTES)
        self.media = (  # ids of the placeholders; a text model has none
            getattr(self.model, "image_token", None), getattr(self.model, "audio_token", None)
        )
        self.waiting: deque[Job] = deque()
        self.begun: deque[tuple[Job, KVCache]] = deque()  # prompts read, without a row as yet
        self.active: list[Job] = []
        super().__init__(decode=self._run)

    def submit(self, job: Job) -> None:
        """Queue a job. Call from any thread."""
        job.marks = marks_of(job.prompt, *self.media)
        with self.changed:
            if self.closed:
                raise RuntimeError("the server stops")
            self.waiting.append(job)
            self.changed.notify()

    def cancel(self, job: Job) -> None:
        """Let a job end at the next step."""
        with self.changed:
            job.cancelled = True
            self.changed.notify()

    def _run(self) -> None:
        with torch.inference_mode():
            thinker = thinker_of(self.model)
            Runner(thinker, thinker.new_cache(1, 1), self.config, wait=True)  # compiled once a machine
            while self._wait():
                try:
                    self._retire({job: "cancelled" for job in self.active if job.cancelled})
                    until = perf_counter() + READING
                    while self._admit() and perf_counter() < until:
                        pass
                    if self.active:
                        self._step()
                except Exception as error:
                    log.exception("the decode loop failed; its requests end with an error")
                    self._fail(error)
        self._fail(RuntimeError("the server stops"))

    def _wait(self) -> bool:
        """Sleep until there is something to do; False once closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.begun or self.active or self.closed)
            return not self.closed

    def _admit(self) -> bool:
        """Read the prompt of one waiting job -> whether there was one.

        Its first word waits for no free row; the rest does, with its cache.
        """
        self._fill()
        with self.changed:
            job = self.waiting.popleft() if self.waiting else None
        if job is not None:
            self._begin(job)
        return job is not None

    def _begin(self, job: Job) -> None:
        if job.cancelled:
            return job.deliver(End("cancelled"))
        try:
            cache, logits = self._read(job)
            job.start(self.omni.tokenizer, self.capacity, logits)
            reason = job.choose(logits, None)
        except Exception as error:  # this request's alone
            return job.deliver(End("error", error))
        if reason:
            return job.deliver(End(reason))
        self.begun.append((job, cache))
        self._fill()

    def _fill(self) -> None:
        """Give free rows to those that have begun, first to those that think."""
        for one in [one for one in self.begun if one[0].cancelled]:
            self.begun.remove(one)
            one[0].deliver(End("cancelled"))
        while self.begun and len(self.active) < MAX_ROWS:
            job, cache = one = next((one for one in self.begun if one[0].thinks), self.begun[0])
            self.begun.remove(one)
            self.rows.admit(cache)
            self.active.append(job)

    def _read(self, job: Job):
        """The prompt's cache of one row, and its last logits (1, V). What is known is not read."""
        cache = self.prefixes.begin(job.marks, len(job.prompt))
        if cache is None:
            kind = self.config.cache_kind
            cache = thinker_of(self.model).new_cache(1, len(job.prompt), kind)
        job.cached = cache.length
        left = rest(job.prompt, cache.length, *self.media)
        run = Runner(thinker_of(self.model), cache, self.config, wait=True)
        logits = prefill(self.model, [left], run).clone()
        self.prefixes.keep(job.marks, cache)
        return cache, logits

    def _step(self) -> None:
        """One token for each active row."""
        logits, likeliest, _ = self.rows.step([job.reply[-1] for job in self.active])
        ended = {}
        for row, job in enumerate(self.active):
            best = likeliest[row] if likeliest else None
            if reason := job.choose(logits[row : row + 1], best):
                ended[job] = reason
        self._retire(ended)

    def _retire(self, ended: dict) -> None:
        for job, reason in ended.items():
            row = self.active.index(job)
            cache = self.rows.take(row)
            self.active[row] = self.active[-1]
            self.active.pop()
            self.prefixes.keep([*job.marks, *job.reply][: cache.length], cache)
            job.deliver(End(reason))

    def _fail(self, error: Exception) -> None:
        with self.changed:
            lost = [*self.active, *(job for job, _ in self.begun), *self.waiting]
            self.waiting.clear()
        self.begun.clear()
        self.active.clear()
        self.rows.clear()
        for job in lost:
            job.deliver(End("error", error))
