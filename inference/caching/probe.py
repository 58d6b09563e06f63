"""Measuring what plans are made from: bytes, exactness and speed of cache kinds, speed of chunks.

Short on purpose: seconds, once, on the machine that will run. Decisions are inference.caching.policy's
and inference.caching.decodeplan's.
"""

import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from inference.caching.needle import Needle
from inference.caching.policy import Quality
from inference.notice import notice
from models.cache import KVCache
from models.thinker import Thinker

PROBE_TOKENS = 512  # of the prompt; shorter where the context is
STEPS = 12  # tokens decoded in one round
ROUNDS = 3
CHUNK = 64  # the prompt is read in pieces, so that most of it is read through the cache


class CacheProbe:
    """The measurements of one model at one context length."""

    def __init__(self, thinker: Thinker, prompt: Needle, context: int) -> None:
        self.thinker, self.prompt, self.context = thinker, prompt, context
        self.device = thinker.model.embed_tokens.weight.device
        self._exact: Tensor | None = None

    def nbytes(self, kind: str) -> int:
        """Bytes of one sequence of the full context."""
        return self.thinker.config.cache_bytes(kind) * self.context

    def quality(self, kind: str) -> Quality:
        """Against fp32: the answer's loss, the whole prompt's perplexity, the mean divergence."""
        if self._exact is None:  # nothing is measured where nothing fits the budget
            notice("cache_kind auto: measuring which cache to use")
            self._exact = self.log_probabilities("fp32")
        exact, coarse = self._exact, self.log_probabilities(kind)
        targets = torch.tensor(self.prompt.ids[1:], device=self.device)[:, None]  # (S - 1, 1)
        more = (exact.gather(1, targets) - coarse.gather(1, targets))[:, 0]  # (S - 1,), nats
        divergence = (exact.exp() * (exact - coarse)).sum(-1)  # (S - 1,)
        answer = more[self.prompt.answer - 1 :]  # place i - 1 predicts token i
        return Quality(float(answer.mean()), float(more.mean().exp()), float(divergence.mean()))

    @torch.inference_mode()
    def log_probabilities(self, kind: str) -> Tensor:
        """Of each next token of the prompt. (S - 1, V)"""
        cache = self.thinker.new_cache(1, len(self.prompt.ids), kind)
        ids = torch.tensor([self.prompt.ids[:-1]], device=self.device)  # (1, S - 1)
        parts = [self.thinker(part, cache=cache)[0] for part in ids.split(CHUNK, dim=1)]
        return F.log_softmax(torch.cat(parts).float(), dim=-1)

    def speeds(self, kinds: list[str]) -> dict[str, float]:
        """Tokens a second when decoding after the prompt; all kinds take turns."""
        caches = {kind: self._filled(kind) for kind in kinds}
        runs = {kind: self._decoder(cache) for kind, cache in caches.items()}
        return {kind: STEPS / seconds for kind, seconds in medians(runs).items()}

    @torch.inference_mode()
    def _filled(self, kind: str) -> KVCache:
        cache = self.thinker.new_cache(1, len(self.prompt.ids) + STEPS, kind)
        ids = torch.tensor([self.prompt.ids], device=self.device)  # (1, S)
        self.thinker.hidden(self.thinker.embed(ids), cache=cache)
        return cache

    def _decoder(self, cache: KVCache) -> Callable[[], None]:
        token = torch.tensor([self.prompt.ids[-1:]], device=self.device)  # (1, 1)

        @torch.inference_mode()
        def run() -> None:
            for _ in range(STEPS):
                hidden = self.thinker.hidden(self.thinker.embed(token), cache=cache)  # (1, 1, D)
                int(self.thinker.logits(hidden[:, -1]).argmax())  # a GPU is waited for
            cache.truncate(len(self.prompt.ids))

        return run


def chunk_seconds(
    thinker: Thinker, ids: list[int], chunks: list[int | None]
) -> dict[int | None, float]:
    """Seconds to read a prompt in pieces of each size."""
    device = thinker.model.embed_tokens.weight.device
    x = thinker.embed(torch.tensor([ids], device=device)).detach()  # (1, S, D)
    cache = thinker.new_cache(1, len(ids))

    def reader(chunk: int | None) -> Callable[[], None]:
        @torch.inference_mode()
        def run() -> None:
            cache.reset()
            for part in x.split(chunk or len(ids), dim=1):
                hidden = thinker.hidden(part, cache=cache)  # (1, chunk, D)
            float(hidden[0, -1, 0])  # a GPU is waited for

        return run

    return medians({chunk: reader(chunk) for chunk in chunks})


def medians(runs: dict) -> dict:
    """Median seconds of each run."""
    rounds = take_turns(runs, ROUNDS)
    return {name: statistics.median(took for took, _ in seen) for name, seen in rounds.items()}


def take_turns(runs: dict[Any, Callable[[], Any]], rounds: int) -> dict[Any, list[tuple]]:
    """(seconds, result) of every round of each run, after one to warm up.

    They take turns, so that a busy moment meets all of them.
    """
    seen: dict[Any, list[tuple]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            start = perf_counter()
            result = run()
            seen[name].append((perf_counter() - start, result))
    return seen
