"""The key-value cache: what lets decoding read each token once.

Preallocated, one pair of tensors a layer, dense or block-quantised. It stores what it is given and
hands back all that it holds; masks and positions are the caller's business.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from models.cachekind import KVCacheTensorConfig
from models.errors import UserError
from models.quantization import dequantise, quantise

DENSE = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


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
        self.config, self.dtype, self.scales = config, dtype, None
        if config is None or not config.quantised:
            kept = dtype if config is None else DENSE[config.kind]
            self.numbers = torch.zeros(shape, dtype=kept, device=device)
            return
        config.require(shape[-1])
        codes, scales = quantise(torch.zeros(1, 1, 1, shape[-1]), config.kind, config.block)
        room = shape[:3]
        self.numbers = codes.new_zeros(*room, codes.shape[-1], device=device)
        self.scales = scales.new_zeros(*room, scales.shape[-1], device=device)

    @property
    def nbytes(self) -> int:
        """Bytes taken, scales included."""
        return self.numbers.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def taken(self, rows: Tensor, length: int, max_len: int) -> "TensorStore":
        """A copy with these rows (any of them several times), `length` positions and room for more."""

        def chosen(kept: Tensor) -> Tensor:
            room = kept.new_zeros(len(rows), kept.shape[1], max_len, kept.shape[3])
            room[:, :, :length] = kept[rows, :, :length]
            return room

        other = copy.copy(self)
        other.numbers = chosen(self.numbers)
        other.scales = None if self.scales is None else chosen(self.scales)
        return other

    def reorder(self, rows: Tensor, start: int, end: int) -> None:
        """Let row i hold what row `rows[i]` does from position `start` to `end`."""
        for kept in (self.numbers, self.scales):
            if kept is not None:
                kept[:, :, start:end] = kept[rows, :, start:end]

    def write(self, x: Tensor, start: int) -> None:
        """Store x (B, H, T, D) from position `start` on."""
        end = start + x.shape[2]
        if self.scales is None:
            self.numbers[:, :, start:end] = x
            return
        codes, scales = quantise(x, self.config.kind, self.config.block)
        self.numbers[:, :, start:end], self.scales[:, :, start:end] = codes, scales

    def read(self, start: int, end: int) -> Tensor:
        """Positions `start` to `end`. (B, H, end - start, D)"""
        numbers = self.numbers[:, :, start:end]  # (B, H, end - start, D), or packed
        if self.scales is None:
            return numbers
        return dequantise(numbers, self.scales[:, :, start:end], self.config.kind, self.dtype)


class LayerKVCache(NamedTuple):
    """Keys and values of one layer."""

    keys: TensorStore
    values: TensorStore


class DecoupledLayerKVCache(NamedTuple):
    """What one layer of decoupled attention keeps, see models.decoupled."""

    semantic: TensorStore  # keys without position
    geometric: TensorStore  # keys with it
    values: TensorStore


# (context, window) in ascending order: beyond so many positions, a query looks so far back.
Windows = tuple[tuple[int, int | None], ...]


class KVCache:
    """Keys and values of every layer, written in place.

    Args:
        num_layers: layers of the transformer it serves.
        batch: rows.
        num_kv_heads: key-value heads H.
        max_len: capacity in positions.
        head_dim: width D of a head.
        keys, values: number formats; None: `dtype`.
    """

    def __init__(
        self,
        num_layers: int,
        batch: int,
        num_kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        keys: KVCacheTensorConfig | None = None,
        values: KVCacheTensorConfig | None = None,
    ):
        shape = (batch, num_kv_heads, max_len, head_dim)
        self.layers: list[LayerKVCache | DecoupledLayerKVCache] = [
            LayerKVCache(
                TensorStore(shape, keys, dtype, device), TensorStore(shape, values, dtype, device)
            )
            for _ in range(num_layers)
        ]
        self.max_len = max_len
        self.length = 0  # positions filled, the same for every layer once a step is complete
        self.windows: Windows = ()

    @classmethod
    def decoupled(
        cls,
        num_layers: int,
        batch: int,
        num_kv_heads: int,
        max_len: int,
        widths: tuple[int, int, int],
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
        kinds: tuple[KVCacheTensorConfig | None, ...] = (None, None, None),
    ) -> "KVCache":
        """The same for decoupled attention.

        Args:
            widths: numbers of a head's semantic key, geometric key and value.
            kinds: their number formats; None: `dtype`.
        """
        cache = cls(0, batch, num_kv_heads, max_len, 0, dtype, device)

        def store(width: int, kind: KVCacheTensorConfig | None) -> TensorStore:
            shape = (batch, num_kv_heads, max_len, width)
            return TensorStore(shape, kind and kind.fitted(width), dtype, device)

        cache.layers = [
            DecoupledLayerKVCache(*map(store, widths, kinds)) for _ in range(num_layers)
        ]
        return cache

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
            type(layer)(*(store.taken(rows, self.length, max_len) for store in layer))
            for layer in self.layers
        ]
        other.max_len = max_len
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
