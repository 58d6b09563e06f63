"""Measuring what plans are made from: bytes, exactness and speed of cache kinds, speed of chunks.

Short on purpose: `SECONDS` at most, once, on the machine that will run, by the very code that will
run: compiled where that serves, else PyTorch. Decisions are inference.caching.policy's and
inference.caching.decodeplan's.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from inference.caching.needle import Needle
from inference.caching.policy import Quality
from inference.config import GenerateConfig
from inference.notice import notice
from inference.runner import Runner
from models.cachekind import AUTO
from models.thinker import Thinker

SECONDS = 2.5  # that an automatic choice may take; what has begun is finished
QUALITY_SHARE = 0.6  # of them for exactness, the rest for speed
ROUNDS = 4
CHUNK = 64  # the prompt is read in chunks, so that most of it is read through the cache


class CacheProbe:
    """The measurements of one model at one context length."""

    def __init__(
        self, thinker: Thinker, prompt: Needle, context: int, config: GenerateConfig | None = None
    ) -> None:
        self.thinker, self.prompt, self.context = thinker, prompt, context
        self.config = config or GenerateConfig()
        self.begun: float | None = None  # nothing is measured where nothing fits the budget
        self.runners: dict[str, Runner] = {}
        self._exact: Tensor | None = None

    @property
    def path(self) -> str:
        """What the speeds are of."""
        return "compiled" if all(run.native for run in self.runners.values()) else "PyTorch"

    def left(self, share: float = 1.0) -> float:
        """Seconds left of a share of the time."""
        return self.begun + share * SECONDS - perf_counter()

    def nbytes(self, kind: str) -> int:
        """Bytes of one sequence of the full context."""
        return self.thinker.new_cache(1, 1, kind).nbytes * self.context

    def quality(self, kind: str) -> Quality | None:
        """Against fp32: the answer's loss, the whole prompt's perplexity, the mean divergence."""
        if self.begun is None:
            notice("cache_kind auto: measuring which cache to use")
            Runner(self.thinker, self.thinker.new_cache(1, 1), self.config, wait=True)  # compiled first
            self.begun = perf_counter()
            self._exact = self.log_probabilities("fp32")
        elif self.left(QUALITY_SHARE) < 0 and self.runners.keys() > {"fp32"}:
            return None
        exact = self._exact
        coarse = exact if kind == "fp32" else self.log_probabilities(kind)
        targets = torch.tensor(self.prompt.ids[1:], device=exact.device)[:, None]  # (S - 1, 1)
        more = (exact.gather(1, targets) - coarse.gather(1, targets))[:, 0]  # (S - 1,), nats
        divergence = (exact.exp() * (exact - coarse)).sum(-1)  # (S - 1,)
        answer = more[self.prompt.answer - 1 :]  # place i - 1 predicts token i
        return Quality(float(answer.mean()), float(more.mean().exp()), float(divergence.mean()))

    def log_probabilities(self, kind: str) -> Tensor:
        """Of each next token of the prompt. (S - 1, V)"""
        ids, steps = self.prompt.ids[:-1], self.config.cache_quality_decode_steps
        cache = self.thinker.new_cache(1, len(ids) + self.config.cache_auto_bench_steps, kind)
        run = self.runners[kind] = Runner(self.thinker, cache, self.config, wait=True)
        together = max(0, len(ids) - steps)
        parts = [ids[i : min(i + CHUNK, together)] for i in range(0, together, CHUNK)]
        parts += [[token] for token in ids[together:]]
        with torch.inference_mode():
            logits = [run(part, every=True).logits[0].clone() for part in parts]  # each (T, V)
            return F.log_softmax(torch.cat(logits).float(), dim=-1)

    def speeds(self, kinds: list[str]) -> dict[str, float]:
        """Tokens a second when decoding after the prompt; all kinds take turns."""
        length = min(self.config.cache_auto_bench_prompt_len, len(self.prompt.ids) - 1)
        steps = self.config.cache_auto_bench_steps
        runs = {kind: self._decoder(self.runners[kind], length, steps) for kind in kinds}
        took = best_times(runs, self.begun + SECONDS)
        return {kind: steps / seconds for kind, seconds in took.items()}

    def _decoder(self, run: Runner, length: int, steps: int) -> Callable[[], None]:
        def decode() -> None:
            run.cache.truncate(length)
            token = self.prompt.ids[-1]
            for _ in range(steps):
                token = int(run([token]).logits.argmax())  # a GPU is waited for

        return decode


def chunk_seconds(
    thinker: Thinker, ids: list[int], chunks: list[int | None], config: GenerateConfig, until: float
) -> dict[int | None, float]:
    """Seconds to read a prompt in chunks of each size; measured until then at the latest."""
    kind = None if config.cache_kind == AUTO else config.cache_kind
    run = Runner(thinker, thinker.new_cache(1, len(ids), kind), config, wait=True)

    def reader(chunk: int | None) -> Callable[[], None]:
        def read() -> None:
            run.cache.reset()
            size = chunk or len(ids)
            for start in range(0, len(ids), size):
                logits = run(ids[start : start + size]).logits
            float(logits[0, 0])  # a GPU is waited for

        return read

    return best_times({chunk: reader(chunk) for chunk in chunks}, until)


def best_times(runs: dict, until: float) -> dict:
    """Least seconds of each run, in as many rounds as there is time for.

    Other work on the machine only ever adds to a time: the least is the nearest to the run's own.
    """
    rounds = [one_round(runs)]
    while len(rounds) <= ROUNDS and perf_counter() + sum(took for took, _ in rounds[-1].values()) <= until:
        rounds.append(one_round(runs))
    return {name: min(times[name][0] for times in rounds) for name in runs}


def one_round(runs: dict[Any, Callable[[], Any]]) -> dict[Any, tuple[float, Any]]:
    """(seconds, result) of each run; in turns, so that a busy moment meets all of them."""
    seen = {}
    for name, run in runs.items():
        start = perf_counter()
        result = run()
        seen[name] = perf_counter() - start, result
    return seen
