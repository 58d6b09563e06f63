"""The key-value cache: what lets decoding read each token once.

Preallocated, one pair of tensors a layer, dense or block-quantised. It stores what it is given and
hands back all that it holds; masks and positions are the caller's business.
"""

import copy

import torch
from torch import Tensor

from models.cachekind import KVCacheTensorConfig
from models.errors import UserError
from models.quantization import decode, encode


class TensorStore:
    """Room for `shape` = (B, H, max_len, D) numbers, written and read by position.

    Args:
        config: the number format; None keeps `dtype`.
        dtype: what quantised numbers are read as.

    Raises:
        UserError: D is no multiple of the format's block.
    """

    def __init__(
        self,
        shape: tuple[int, int, int, int],
        config: KVCacheTensorConfig | None,
        dtype: torch.dtype,
        device: str | torch.device,
    ):
        self.config, self.dtype = config, dtype
        one = encode(torch.zeros(1, 1, 1, shape[3], dtype=dtype), config)
        # The numbers; of quantised ones the codes, then their scales. Each (B, H, max_len, …)
        self.parts = [part.new_zeros(*shape[:3], part.shape[3], device=device) for part in one]

    @property
    def nbytes(self) -> int:
        """Bytes taken, scales included."""
        return sum(part.nbytes for part in self.parts)

    def taken(self, rows: Tensor, length: int, max_len: int) -> "TensorStore":
        """A copy with these rows (any of them several times), `length` positions and room for more."""
        other = copy.copy(self)
        other.parts = []
        for part in self.parts:
            room = part.new_zeros(len(rows), part.shape[1], max_len, part.shape[3])
            room[:, :, :length] = part[rows, :, :length]
            other.parts.append(room)
        return other

    def reorder(self, rows: Tensor, start: int, end: int) -> None:
        """Let row i hold what row `rows[i]` does from position `start` to `end`."""
        for part in self.parts:
            part[:, :, start:end] = part[rows, :, start:end]

    def write(self, x: Tensor, start: int) -> None:
        """Store x (B, H, T, D) from position `start` on."""
        for part, new in zip(self.parts, encode(x, self.config), strict=True):
            part[:, :, start : start + x.shape[2]] = new

    def read(self, start: int, end: int) -> Tensor:
        """Positions `start` to `end`. (B, H, end - start, D)"""
        return decode([part[:, :, start:end] for part in self.parts], self.config, self.dtype)


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
