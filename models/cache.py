"""The key-value cache: what lets decoding read each token once.

Preallocated, one pair of tensors a layer, dense or block-quantised (models/tensorstore.py). It stores
what it is given and hands back what the new queries look at; masks and positions are the caller's business.
"""

import copy

import torch
from torch import Tensor

from models.cachekind import KVCacheTensorConfig
from models.errors import UserError
from models.tensorstore import TensorStore

# (context, window) in ascending order: beyond so many positions, a query looks so far back.
Windows = tuple[tuple[int, int | None], ...]


class KVCache:
    """Keys and values of every layer, written in place.

    Args:
        num_layers: layers of the transformer it serves.
        batch: rows.
        num_kv_heads: key-value heads H.
        max_len: capacity in positions.
        widths: of a head's keys and of its values. One number stands for both.
        kinds: their number formats; None: `dtype`.
    """

    def __init__(
        self,
        num_layers: int,
        batch: int,
        num_kv_heads: int,
        max_len: int,
        widths: int | tuple[int, ...],
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        kinds: tuple[KVCacheTensorConfig | None, ...] = (None, None),
    ):
        widths = (widths, widths) if isinstance(widths, int) else widths
        self.layers: list[tuple[TensorStore, ...]] = [
            tuple(
                TensorStore((batch, num_kv_heads, max_len, width), kind, dtype, device)
                for width, kind in zip(widths, kinds, strict=True)
            )
            for _ in range(num_layers)
        ]
        self.batch, self.max_len = batch, max_len
        self.length = 0  # positions filled, the same for every layer once a step is complete
        self.windows: Windows = ()

    @property
    def nbytes(self) -> int:
        """Bytes of all layers at full length."""
        return sum(store.nbytes for layer in self.layers for store in layer)

    def window(self, positions: int) -> int | None:
        """How far back `positions` new queries look, themselves counted; None: to the beginning."""
        wide = None
        for beyond, window in self.windows:
            wide = window if self.length + positions > beyond else wide
        return wide

    def first(self, positions: int) -> int:
        """The earliest position that any of `positions` new queries looks at."""
        window = self.window(positions)
        return 0 if window is None else max(0, self.length + 1 - window)

    def update(self, layer: int, *new: Tensor) -> tuple[Tensor, ...]:
        """Store a layer's new keys and values, each (B, H, T, D), after those already held.

        Returns all that the new queries look at, (B, H, S, D), S = length + T - first(T).
        `advance` moves `length` once all layers wrote.
        """
        T = new[0].shape[2]
        self.require(T)
        first, end = self.first(T), self.length + T
        for store, x in zip(self.layers[layer], new, strict=True):
            store.write(x, self.length)
        return tuple(store.read(first, end) for store in self.layers[layer])

    def require(self, positions: int) -> None:
        """Refuse to go on where there is no room for so many more."""
        end = self.length + positions
        if end > self.max_len:
            raise UserError(f"KV cache is full: {end} positions wanted, capacity {self.max_len}")

    def advance(self, positions: int) -> None:
        """Count positions that every layer has stored."""
        self.length += positions

    def taken(self, rows: Tensor, max_len: int) -> "KVCache":
        """A copy with these rows (R,), any of them several times, and room for `max_len` positions."""
        other = copy.copy(self)
        other.layers = [
            tuple(store.taken(rows, self.length, max_len) for store in layer) for layer in self.layers
        ]
        other.batch, other.max_len = len(rows), max_len
        return other

    def reorder(self, rows: Tensor, start: int) -> None:
        """Let row i go on as row `rows[i]`, in place; both hold the same before position `start`."""
        for layer in self.layers:
            for store in layer:
                store.reorder(rows, start, self.length)

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)

    def reset(self) -> None:
        """Forget everything."""
        self.length = 0
