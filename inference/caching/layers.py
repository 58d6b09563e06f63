"""One layer's KV cache on its own: number formats, sizes and devices of keys and values chosen by hand.

The Thinker makes caches of all its layers itself (`Thinker.new_cache`, models.cache); these are for
experiments with one.
"""

import torch
from torch import Tensor

from inference.loading import usable
from models.cache import KVCache
from models.cachekind import KVCacheTensorConfig

Config = KVCacheTensorConfig | None


class LayerKVCache(KVCache):
    """Keys and values of one layer, of widths and formats of their own."""

    def __init__(
        self, batch_size: int, max_seq_len: int, k_dim: int, v_dim: int,
        k_cfg: Config = None, v_cfg: Config = None, device: str | torch.device = "cpu",
    ):
        self._make(batch_size, max_seq_len, ((k_dim, k_cfg), (v_dim, v_cfg)), device)

    def _make(self, batch_size: int, max_seq_len: int, parts: tuple[tuple[int, Config], ...], device):
        """Room for tensors of these widths, each in its format."""
        kinds = tuple(config and config.fitted(width) for width, config in parts)
        widths = tuple(width for width, _ in parts)
        super().__init__(1, batch_size, 1, max_seq_len, widths, device=usable(device), kinds=kinds)

    @property
    def position(self) -> int:
        """Positions that it holds."""
        return self.length

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Store new positions, one tensor (B, T, dim) a part -> all positions of each (B, S, dim)."""
        found = self.update(0, *(x[:, None] for x in new))  # each (B, 1, S, dim)
        self.advance(new[0].shape[1])
        return tuple(x[:, 0] for x in found)


class DecoupledLayerKVCache(LayerKVCache):
    """Semantic keys, geometric keys and values of one layer of decoupled attention."""

    def __init__(
        self, batch_size: int, max_seq_len: int, k_sem_dim: int, k_geo_dim: int, v_dim: int,
        k_sem_cfg: Config = None, k_geo_cfg: Config = None, v_cfg: Config = None,
        device: str | torch.device = "cpu",
    ):
        parts = ((k_sem_dim, k_sem_cfg), (k_geo_dim, k_geo_cfg), (v_dim, v_cfg))
        self._make(batch_size, max_seq_len, parts, device)
