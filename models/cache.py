"""The key-value cache: what lets decoding read each token once.

Preallocated, one pair of tensors a layer. It stores what it is given and hands back all that it
holds; masks and positions are the caller's business.
"""

import torch
from torch import Tensor

from models.errors import UserError


class KVCache:
    """Keys and values of every layer, written in place.

    Args:
        num_layers: layers of the transformer it serves.
        batch: rows.
        num_kv_heads: key-value heads H.
        max_len: capacity in positions.
        head_dim: width D of a head.
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
    ):
        shape = (num_layers, batch, num_kv_heads, max_len, head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.length = 0  # positions filled, the same for every layer once a step is complete

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store new keys and values (B, H, T, D) of a layer after those already held.

        Returns all of them, (B, H, length + T, D). `advance` moves `length` once all layers wrote.
        """
        end = self.length + k.shape[2]
        if end > self.max_len:
            raise UserError(f"KV cache is full: {end} positions wanted, capacity {self.max_len}")
        self.keys[layer, :, :, self.length : end] = k
        self.values[layer, :, :, self.length : end] = v
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def advance(self, positions: int) -> None:
        """Count positions that every layer has stored."""
        self.length += positions

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)

    def reset(self) -> None:
        """Forget everything."""
        self.length = 0
