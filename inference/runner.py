"""Running new positions into a KV cache, by compiled code where it serves, or without a cache."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor

from inference.config import GenerateConfig
from models.cache import KVCache
from models.thinker import Thinker


class Scores(NamedTuple):
    """What follows new positions: of the last of each row, or of all."""

    logits: Tensor  # (B, V) or (B, T, V); compiled code overwrites them at the next call for as many
    likeliest: list[int]  # (B,) or (B * T,) by compiled code; empty by PyTorch
    seconds: float  # that these took of the whole


class Runner:
    """A Thinker bound to one cache.

    Args:
        config: whether compiled code may run; None: PyTorch alone.
        wait: for the compiler, if need be; else PyTorch runs until `compile` is called.
    """

    def __init__(
        self, thinker: Thinker, cache: KVCache, config: GenerateConfig | None = None, wait: bool = False
    ) -> None:
        self.thinker, self.cache, self.config = thinker, cache, config
        self.native = None  # inference.native.step.NativeStep
        self.compile(wait)

    def compile(self, wait: bool = True) -> None:
        """From now on run compiled code, where it serves."""
        if self.native is None and self.config is not None and self.config.native != "off":
            from inference.native.step import native_step

            self.native = native_step(self.thinker, self.cache, self.config, wait)

    def __call__(
        self, new: list[int] | Tensor, mask: Tensor | None = None, every: bool = False
    ) -> Scores:
        """Run new positions of each row into the cache.

        Args:
            new: ids, row after row, T of each; or embeddings (B, T, hidden).
            mask: bool (B, S + T), True for real tokens, padding on the left; None: all are.
            every: whether all positions are scored, or the last of each row.
        """
        if self.native is not None:
            return self.native(new, mask, every)
        with torch.inference_mode():
            if not isinstance(new, Tensor):
                device = self.thinker.model.embed_tokens.weight.device
                ids = torch.tensor(new, device=device).view(self.cache.batch, -1)  # (B, T)
                new = self.thinker.embed(ids)  # (B, T, hidden)
            hidden = self.thinker.hidden(new, mask, self.cache)  # (B, T, hidden)
            start = perf_counter()
            logits = self.thinker.logits(hidden if every else hidden[:, -1])
            return Scores(logits, [], perf_counter() - start)


class RunnerWithoutCache:
    """The control of a cache: one row, read again from its start for each new position."""

    def __init__(self, thinker: Thinker) -> None:
        self.thinker = thinker
        self.read: Tensor | None = None  # (1, T, hidden), all so far

    def compile(self) -> None:
        """Nothing: there is no compiled code for it."""

    @torch.inference_mode()
    def __call__(self, new: list[int] | Tensor, mask: None = None) -> Scores:
        """The scores behind new positions, one id or embeddings (1, T, hidden)."""
        if not isinstance(new, Tensor):
            new = self.thinker.embed(torch.tensor([new], device=self.read.device))  # (1, 1, hidden)
        self.read = new if self.read is None else torch.cat([self.read, new], dim=1)
        logits = self.thinker.logits(self.thinker.hidden(self.read)[:, -1])  # (1, V)
        return Scores(logits, [], 0.0)
