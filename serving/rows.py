"""RowCache: one KV cache for rows that begin and end at different times (continuous batching).

Rows are aligned on the right: all end at the same position, and a mask hides what lies before a
row's first token. So one step of the decoder serves all of them, whatever their lengths, by the
left padding that it knows already. A retired row's place is taken by the last row: the rows in use
are always the first ones, and a step computes no others.
"""

import copy

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.generation import find_native, run_step
from inference.timing import Timing
from models.cache import KVCache, TensorStore
from models.thinker import Thinker


class RowCache:
    """Keys and values of up to `rows` sequences that are decoded together.

    Args:
        capacity: positions of the longest sequence.
    """

    def __init__(self, thinker: Thinker, rows: int, capacity: int, config: GenerateConfig) -> None:
        self.thinker, self.capacity, self.config = thinker, capacity, config
        self.whole = thinker.new_cache(rows, capacity, config.cache_kind)
        self.lengths: list[int] = []  # tokens of each row
        self.end = 0  # the position after every row's last
        self._views: dict[int, tuple[KVCache, object]] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    def admit(self, one: KVCache) -> None:
        """Add a sequence, read into a cache of one row; it becomes the last row."""
        if one.length > self.end:
            self._move(one.length)
        row = len(self.lengths)
        for mine, its in self._stores(one):
            for kept, new in pairs(mine, its):
                kept[row, :, self.end - one.length : self.end] = new[0, :, : one.length]
        self.lengths.append(one.length)

    def retire(self, row: int) -> KVCache:
        """Take a row out -> its tokens in a cache of one row."""
        length = self.lengths[row]
        one = self.thinker.new_cache(1, max(1, length), self.config.cache_kind)
        one.length = length
        last = len(self.lengths) - 1
        for mine, its in self._stores(one):
            for kept, out in pairs(mine, its):
                out[0, :, :length] = kept[row, :, self.end - length : self.end]
                kept[row, :, : self.end] = kept[last, :, : self.end]
        self.lengths[row] = self.lengths[last]
        self.lengths.pop()
        self.end = self.end if self.lengths else 0
        return one

    def step(self, tokens: list[int]) -> tuple[Tensor, list[int] | None]:
        """Run one token of each row -> logits of what follows (B, V), and each row's likeliest.

        The next step overwrites both.
        """
        if self.end == self.capacity:
            self._move(max(self.lengths))
        cache, native = self._view()
        cache.length = self.end
        starts = torch.tensor([[self.end - length] for length in self.lengths])  # (B, 1)
        mask = torch.arange(self.end + 1) >= starts  # (B, end + 1)
        mask = mask.to(self.thinker.model.embed_tokens.weight.device)
        result = run_step(self.thinker, native, tokens, mask, cache, Timing())
        self.end += 1
        self.lengths = [length + 1 for length in self.lengths]
        return result

    def clear(self) -> None:
        """Forget all rows."""
        self.lengths, self.end = [], 0

    def _view(self) -> tuple[KVCache, object]:
        """The cache of the rows in use, over the same memory, and compiled code bound to it."""
        rows = len(self.lengths)
        if rows not in self._views:
            view = copy.copy(self.whole)
            view.layers = [
                type(layer)(*(first_rows(store, rows) for store in layer))
                for layer in self.whole.layers
            ]
            self._views[rows] = view, find_native(self.thinker, view, self.config)
        return self._views[rows]

    def _move(self, end: int) -> None:
        """Let all rows end at another position."""
        rows, most = len(self.lengths), max(self.lengths, default=0)
        for layer in self.whole.layers:
            for store in layer:
                for kept, _ in pairs(store, store):
                    kept[:rows, :, end - most : end] = kept[
                        :rows, :, self.end - most : self.end
                    ].clone()
        self.end = end

    def _stores(self, one: KVCache):
        for mine, its in zip(self.whole.layers, one.layers, strict=True):
            yield from zip(mine, its, strict=True)


def first_rows(store: TensorStore, rows: int) -> TensorStore:
    """A store's first rows, in the same memory."""
    view = copy.copy(store)
    view.numbers = store.numbers[:rows]
    view.scales = None if store.scales is None else store.scales[:rows]
    return view


def pairs(mine: TensorStore, its: TensorStore):
    """The tensors of two stores of one kind: numbers, and scales where they are quantised."""
    yield mine.numbers, its.numbers
    if mine.scales is not None:
        yield mine.scales, its.scales
