"""The key-value cache: what lets decoding read each token once.

Preallocated, one pair of tensors a layer, dense or block-quantised. It stores what it is given and
hands back all that it holds; masks and positions are the caller's business.
"""

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
        if shape[-1] % config.block:
            raise UserError(
                f"cache_kind {config.kind} needs heads of a multiple of {config.block} numbers, "
                f"not {shape[-1]}"
            )
        codes, scales = quantise(torch.zeros(1, 1, 1, shape[-1]), config.kind, config.block)
        room = shape[:3]
        self.numbers = codes.new_zeros(*room, codes.shape[-1], device=device)
        self.scales = scales.new_zeros(*room, scales.shape[-1], device=device)

    @property
    def nbytes(self) -> int:
        """Bytes taken, scales included."""
        return self.numbers.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def write(self, x: Tensor, start: int) -> None:
        """Store x (B, H, T, D) from position `start` on."""
        end = start + x.shape[2]
        if self.scales is None:
            self.numbers[:, :, start:end] = x
            return
        codes, scales = quantise(x, self.config.kind, self.config.block)
        self.numbers[:, :, start:end], self.scales[:, :, start:end] = codes, scales

    def read(self, end: int) -> Tensor:
        """Positions 0 to `end`. (B, H, end, D)"""
        if self.scales is None:
            return self.numbers[:, :, :end]
        return dequantise(
            self.numbers[:, :, :end], self.scales[:, :, :end], self.config.kind, self.dtype
        )


class LayerKVCache:
    """Keys and values of one layer."""

    def __init__(self, keys: TensorStore, values: TensorStore):
        self.keys, self.values = keys, values

    def update(self, k: Tensor, v: Tensor, start: int) -> tuple[Tensor, Tensor]:
        """Store (B, H, T, D) from `start` on; returns all of both, (B, H, start + T, D)."""
        end = start + k.shape[2]
        self.keys.write(k, start)
        self.values.write(v, start)
        return self.keys.read(end), self.values.read(end)


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
        self.layers = [
            LayerKVCache(
                TensorStore(shape, keys, dtype, device), TensorStore(shape, values, dtype, device)
            )
            for _ in range(num_layers)
        ]
        self.max_len = max_len
        self.length = 0  # positions filled, the same for every layer once a step is complete

    @property
    def nbytes(self) -> int:
        """Bytes of all layers at full length."""
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self.layers)

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store new keys and values (B, H, T, D) of a layer after those already held.

        Returns all of them, (B, H, length + T, D). `advance` moves `length` once all layers wrote.
        """
        self.require(k.shape[2])
        return self.layers[layer].update(k, v, self.length)

    def require(self, positions: int) -> None:
        """Refuse to go on where there is no room for so many more."""
        end = self.length + positions
        if end > self.max_len:
            raise UserError(f"KV cache is full: {end} positions wanted, capacity {self.max_len}")

    def advance(self, positions: int) -> None:
        """Count positions that every layer has stored."""
        self.length += positions

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)

    def reset(self) -> None:
        """Forget everything."""
        self.length = 0
