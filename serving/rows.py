"""Rows: one KV cache for sequences that begin and end at different times (continuous batching).

Rows are aligned on the right: all end at the same position, and a mask hides what lies before a
row's first token. So one step of the decoder serves all of them, whatever their lengths, by the
left padding that it knows already. A retired row's place is taken by the last row: the rows in use
are always the first ones, and a step computes no others.
"""

import copy

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.runner import Runner, Scores
from models.cache import KVCache
from models.tensorstore import TensorStore
from models.thinker import Thinker


class RowStore:
    """Keys and values of rows that begin and end at different times.

    Args:
        whole: a cache with as many rows and positions as there may be.
    """

    def __init__(self, whole: KVCache) -> None:
        self.whole = whole
        self.lengths: list[int] = []  # positions of each row
        self.end = 0  # the position after every row's last
        self._views: dict[int, KVCache] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    def admit(self, one: KVCache | None = None) -> None:
        """Add a sequence, read into a cache of one row, or an empty one; it is the last row."""
        length = 0 if one is None else one.length
        if length > self.end:
            self._move(length)
        if length:
            row = len(self.lengths)
            for kept, new in self._pairs(one):
                kept[row, :, self.end - length : self.end] = new[0, :, :length]
        self.lengths.append(length)

    def retire(self, row: int, into: KVCache | None = None) -> None:
        """Take a row out, its positions copied into a cache of one row."""
        length, last = self.lengths[row], len(self.lengths) - 1
        if into is not None:
            into.length = length
            for kept, out in self._pairs(into):
                out[0, :, :length] = kept[row, :, self.end - length : self.end]
        if row != last:
            for kept, _ in self._pairs(self.whole):
                kept[row, :, : self.end] = kept[last, :, : self.end]
        self.lengths[row] = self.lengths[last]
        self.lengths.pop()
        self.end = self.end if self.lengths else 0

    def ready(self) -> KVCache:
        """The cache of the rows in use, over the same memory, with room for another position."""
        if self.end == self.whole.max_len:
            self._move(max(self.lengths))
        rows = len(self.lengths)
        if rows not in self._views:
            view = copy.copy(self.whole)
            view.layers = [
                tuple(first_rows(store, rows) for store in layer) for layer in self.whole.layers
            ]
            view.batch = rows
            self._views[rows] = view
        view = self._views[rows]
        view.length = self.end
        return view

    def starts(self) -> Tensor:
        """Where each row begins. (B,)"""
        return torch.tensor([self.end - length for length in self.lengths])

    def grow(self) -> None:
        """All rows have taken one position."""
        self.end += 1
        self.lengths = [length + 1 for length in self.lengths]

    def clear(self) -> None:
        """Forget all rows."""
        self.lengths, self.end = [], 0

    def _move(self, end: int) -> None:
        """Let all rows end at another position."""
        rows, most = len(self.lengths), max(self.lengths, default=0)
        for kept, _ in self._pairs(self.whole):
            kept[:rows, :, end - most : end] = kept[:rows, :, self.end - most : self.end].clone()
        self.end = end

    def _pairs(self, other: KVCache):
        """Tensors of this cache beside those of another of its kind."""
        for mine, its in zip(self.whole.layers, other.layers, strict=True):
            for one, two in zip(mine, its, strict=True):
                yield from zip(one.parts, two.parts, strict=True)


class RowCache(RowStore):
    """The Thinker's rows, and a step of its decoder for all of them."""

    def __init__(self, thinker: Thinker, rows: int, capacity: int, config: GenerateConfig) -> None:
        super().__init__(thinker.new_cache(rows, capacity, config.cache_kind))
        self.thinker, self.config = thinker, config
        self._runs: dict[int, Runner] = {}  # by the number of rows

    def take(self, row: int) -> KVCache:
        """Take a row out -> its tokens in a cache of one row."""
        one = self.thinker.new_cache(1, max(1, self.lengths[row]), self.config.cache_kind)
        self.retire(row, one)
        return one

    def step(self, tokens: list[int]) -> Scores:
        """Run one token of each row. The next step overwrites the logits."""
        cache, rows = self.ready(), len(self)
        if rows not in self._runs:
            self._runs[rows] = Runner(self.thinker, cache, self.config, wait=True)
        mask = torch.arange(self.end + 1) >= self.starts()[:, None]  # (B, end + 1)
        mask = mask.to(self.thinker.model.embed_tokens.weight.device)
        scores = self._runs[rows](tokens, mask)
        self.grow()
        return scores


def first_rows(store: TensorStore, rows: int) -> TensorStore:
    """A store's first rows, in the same memory."""
    view = copy.copy(store)
    view.parts = [part[:rows] for part in store.parts]
    return view
