"""SpeechEngine: the Talker's frames of many sentences in one loop, and their sound beside it.

One thread makes a frame of each sentence at a time (continuous batching): the Talker's step costs
nearly the same for sixteen rows as for one. Another decodes frames into sound, first for whoever
has got the least of it. Both let the decode loop of texts go first.
"""

import heapq
import itertools
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from inference.omni import Omni
from inference.speech import Speaker
from inference.synthesis import CHUNK, waveform
from models.alignment import align
from models.errors import UserError
from models.talker import Talker
from serving.rows import RowStore
from serving.worker import Worker

MAX_ROWS = 16  # sentences that are made together
CAPACITY = 1024  # frames of the Talker's cache: 41 s
LETTERS = 480  # said at once at speed 1: some 34 s
NICE = 10  # of the threads that speak: beside a busy thread of another program they get a tenth

log = logging.getLogger("serving")


@dataclass(eq=False)
class Sentence:
    """One sentence to be said.

    `deliver` is called in an engine's thread with each chunk of sound, float32 (samples,) at
    16 kHz, then once with None, or with the error that ended it.
    """

    words: list[str]  # and marks
    voice: str
    speed: float
    deliver: Callable[[np.ndarray | Exception | None], None]
    cancelled: bool = False
    made: int = 0  # frames so far
    whole: bool = False  # all frames are made
    codes: deque[Tensor] = field(default_factory=deque)  # frames (K,) without sound as yet
    waits: bool = False  # in the queue for sound
    served: int = 0  # samples delivered

    def read(self, speaker: Speaker) -> None:
        """Phones, and what each frame must say."""
        talker = speaker.talker
        ready = speaker.frontend(self.words, self.voice, self.speed)
        where = align(ready.seconds, talker.config.frame_seconds)
        self.condition = talker.condition(ready.script, where)[0]  # (T, D)
        if len(self.condition) > CAPACITY:
            seconds = CAPACITY * talker.config.frame_seconds
            raise UserError(f"a sentence is too long to be said in {seconds:.0f} s: shorten it")
        self.before = self.condition.new_zeros(talker.from_codes.in_features)  # (K·64,)
        self.wave = waveform(speaker.codec, speaker.vocoder, self._chunks())

    @property
    def settled(self) -> bool:
        """Whether its frames give sound: a chunk of them, or the last."""
        return self.whole or len(self.codes) >= CHUNK

    def _chunks(self) -> Iterator[Tensor]:
        """Frames as they are taken for sound, each time all there are: (1, t, K)."""
        while self.codes:
            taken = [self.codes.popleft() for _ in range(len(self.codes))]
            yield torch.stack(taken)[None]


def breaths(words: list[str], speed: float) -> Iterator[list[str]]:
    """A sentence's words in as few parts as can be said at once: numbers read out grow long."""
    part: list[str] = []
    for word in words:
        if part and sum(map(len, part)) + len(part) + len(word) > LETTERS * speed:
            yield part
            part = []
        part.append(word)
    yield part


class TalkerRows:
    """Sentences whose frames are made together."""

    def __init__(self, talker: Talker) -> None:
        self.talker = talker
        cache = talker.new_cache(MAX_ROWS, CAPACITY, talker.codebooks)
        self.store, self.active = RowStore(cache), []

    def admit(self, sentence: Sentence) -> None:
        self.store.admit()
        self.active.append(sentence)

    def step(self) -> None:
        """One frame of each sentence."""
        rows = self.active
        condition = torch.stack([one.condition[one.made] for one in rows])[:, None]  # (B, 1, D)
        before = torch.stack([one.before for one in rows])[:, None]  # (B, 1, K·64)
        cache, starts = self.store.ready(), self.store.starts()
        x = self.talker.frames(condition, before, cache, starts)[:, -1]  # (B, D)
        codes, vectors = self.talker.frame(x, 0.0, [])
        self.store.grow()
        for one, code, vector in zip(rows, codes, vectors, strict=True):
            one.before, one.made = vector, one.made + 1
            one.codes.append(code)
            one.whole = one.made == len(one.condition)

    def retire(self) -> None:
        """Let go of sentences that are made, or not wanted any more."""
        for row in reversed(range(len(self.active))):
            if self.active[row].whole or self.active[row].cancelled:
                self.store.retire(row)
                self.active[row] = self.active[-1]
                self.active.pop()


def let_others_go_first() -> None:
    """Take precedence from the thread that calls. Linux alone knows priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it: all threads are then alike
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # it interrupts nobody on waking
            os.nice(NICE)  # of this thread alone


class SpeechEngine(Worker):
    """Says sentences, MAX_ROWS at a time; others wait in the order they came."""

    def __init__(self, omni: Omni) -> None:
        self.omni = omni
        self.waiting: deque[Sentence] = deque()
        self.sounding: list[tuple[int, int, Sentence]] = []  # a heap: who has had the least first
        self.numbers = itertools.count()
        super().__init__(
            talk=partial(self._run, self._talk), vocode=partial(self._run, self._sound)
        )
        self.rows: TalkerRows | None = None

    @cached_property
    def speaker(self) -> Speaker:
        return self.omni.speaker

    def close(self) -> None:
        super().close()
        self.waiting.extend(one for *_, one in self.sounding if one.whole)  # others are active
        self._fail(RuntimeError("the server stops"))

    def say(self, sentence: Sentence) -> None:
        """Queue a sentence. Call from any thread."""
        with self.changed:
            if self.closed:
                raise RuntimeError("the server stops")
            self.waiting.append(sentence)
            self.changed.notify_all()

    def _run(self, work: Callable[[], None]) -> None:
        """One of the threads: it yields to words, and no failure ends it."""
        let_others_go_first()
        with torch.inference_mode():
            while not self.closed:
                work()

    # ---- frames

    def _talk(self) -> None:
        """Admit, step, hand over."""
        rows = self.rows
        with self.changed:
            busy = rows is not None and rows.active
            self.changed.wait_for(lambda: self.waiting or busy or self.closed)
            if self.closed:
                return
            new = None
            if self.waiting and (rows is None or len(rows.active) < MAX_ROWS):
                new = self.waiting.popleft()
        try:
            if rows is None:
                rows = self.rows = TalkerRows(self.speaker.talker)
            if new is not None and not new.cancelled:
                self._admit(new)
            if rows.active:
                rows.step()
                self._offer(rows.active)
                rows.retire()
        except Exception as error:
            log.exception("speaking failed; its sentences end with an error")
            self._fail(error)

    def _admit(self, sentence: Sentence) -> None:
        try:
            sentence.read(self.speaker)
            self.rows.admit(sentence)
        except Exception as error:  # this sentence's alone
            sentence.deliver(error)

    def _offer(self, sentences: list[Sentence]) -> None:
        """Queue for sound what has enough frames."""
        with self.changed:
            for one in sentences:
                if one.settled and not one.waits:
                    one.waits = True
                    heapq.heappush(self.sounding, (one.served, next(self.numbers), one))
                    self.changed.notify_all()

    def _fail(self, error: Exception) -> None:
        with self.changed:
            active = self.rows.active if self.rows else []
            lost = [*active, *self.waiting]
            self.waiting.clear()
        self.rows = None
        for one in lost:
            one.cancelled = True
            one.deliver(error)

    # ---- sound

    def _sound(self) -> None:
        """The sound of one sentence's frames."""
        with self.changed:
            self.changed.wait_for(lambda: self.sounding or self.closed)
            if self.closed:
                return
            _, _, one = heapq.heappop(self.sounding)
            last = one.whole  # before its frames are taken: none come after them
        if one.cancelled:
            return
        try:
            for wave in one.wave if last else itertools.islice(one.wave, 1):
                sound = self.speaker.loudness(one.voice).level(wave[0].float().numpy())
                one.served += len(sound)
                one.deliver(sound)
            if last:
                one.deliver(None)
        except Exception as error:
            log.exception("the sound of a sentence failed")
            one.cancelled = True
            one.deliver(error)
            return
        with self.changed:
            one.waits = False
            again = one.settled and not last
        if again:
            self._offer([one])
