"""One layer's KV cache on its own: number formats, sizes and devices of keys and values chosen by hand.

The Thinker makes caches of all its layers itself (`Thinker.new_cache`, models.cache); these are for
experiments with one.
"""

import torch
from torch import Tensor

from models import cache
from models.cache import TensorStore
from models.cachekind import KVCacheTensorConfig
from models.errors import UserError

Config = KVCacheTensorConfig | None


class _Layer:
    """What both kinds of layer can do besides holding their stores."""

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Store new positions, one tensor (B, T, dim) a part -> all positions of each (B, S, dim)."""
        start = self.position
        cache_end = start + new[0].shape[1]
        limit = self[0].numbers.shape[2]
        if cache_end > limit:
            raise UserError(f"KV cache is full: {cache_end} positions wanted, capacity {limit}")
        for store, x in zip(self, new, strict=True):
            store.write(x[:, None], start)  # (B, 1, T, dim)
        self.position = cache_end
        return tuple(store.read(0, cache_end)[:, 0] for store in self)

    @property
    def nbytes(self) -> int:
        """Bytes taken at full length, scales included."""
        return sum(store.nbytes for store in self)

    def reset(self) -> None:
        """Forget everything."""
        self.position = 0


def store(batch_size: int, length: int, width: int, config: Config, device) -> TensorStore:
    """Room for one tensor. (B, 1, length, width)"""
    config = config and config.fitted(width)
    return TensorStore((batch_size, 1, length, width), config, torch.float32, device)


class LayerKVCache(_Layer, cache.LayerKVCache):
    """Keys and values of one layer, of widths and formats of their own; `position` counts what it holds."""

    def __new__(
        cls, batch_size: int, max_seq_len: int, k_dim: int, v_dim: int,
        k_cfg: Config = None, v_cfg: Config = None, device: str | torch.device = "cpu",
    ):
        sizes = ((k_dim, k_cfg), (v_dim, v_cfg))
        made = super().__new__(
            cls, *(store(batch_size, max_seq_len, width, config, device) for width, config in sizes)
        )
        made.position = 0
        return made


class DecoupledLayerKVCache(_Layer, cache.DecoupledLayerKVCache):
    """Semantic keys, geometric keys and values of one layer of decoupled attention."""

    def __new__(
        cls, batch_size: int, max_seq_len: int, k_sem_dim: int, k_geo_dim: int, v_dim: int,
        k_sem_cfg: Config = None, k_geo_cfg: Config = None, v_cfg: Config = None,
        device: str | torch.device = "cpu",
    ):
        sizes = ((k_sem_dim, k_sem_cfg), (k_geo_dim, k_geo_cfg), (v_dim, v_cfg))
        made = super().__new__(
            cls, *(store(batch_size, max_seq_len, width, config, device) for width, config in sizes)
        )
        made.position = 0
        return made
