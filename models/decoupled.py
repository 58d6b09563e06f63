"""Decoupled bottleneck attention: what a token is about and where it stands, in keys of their own.

score = q_semantic · k_semantic + q_geometric · k_geometric. Only the geometric part is rotated by
position; both are narrow, as values are, so that a cache holds fewer numbers a token. It is no
Qwen3: an option of ThinkerConfig, for experiments.

DeepSeek-V2 (arXiv:2405.04434) parts keys likewise, and caches a latent from which the first part is
made again; here the narrow keys themselves are kept, and nothing is made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from models.block import RMSNorm, Rope, attend, rotate
from models.cache import KVCache
from models.cachekind import KVCacheTensorConfig
from models.errors import UserError

if TYPE_CHECKING:
    from models.thinker import ThinkerConfig

MODEL_TYPE = "muomni_dba"  # of a Thinker with decoupled attention
FIELDS = {"attention", "semantic_dim", "geometric_dim", "value_dim"}  # of its config, not Qwen3's


def check(config: ThinkerConfig) -> None:
    """Refuse another attention, and widths that mean nothing."""
    if config.attention not in ("standard", "dba"):
        raise UserError(f"attention {config.attention!r} is unknown: use standard or dba")
    if config.decoupled and (min(config.cache_widths) < 1 or config.geometric_dim % 2):
        raise UserError(
            "semantic_dim and value_dim must be at least 1, geometric_dim even and at least 2, "
            f"not {config.semantic_dim}, {config.value_dim}, {config.geometric_dim}"
        )


def fitted(
    kinds: tuple[KVCacheTensorConfig, ...], widths: tuple[int, ...]
) -> tuple[KVCacheTensorConfig, ...]:
    """Number formats of a cache whose parts are narrower than a block."""
    return tuple(kind.fitted(width) for kind, width in zip(kinds, widths, strict=True))


class DecoupledAttention(nn.Module):
    """Grouped-query attention over semantic and geometric keys, both normalised."""

    def __init__(self, config: ThinkerConfig):
        super().__init__()
        self.config = c = config
        heads, groups, eps = c.num_attention_heads, c.num_key_value_heads, c.rms_norm_eps

        def linear(heads: int, width: int) -> nn.Linear:
            return nn.Linear(c.hidden_size, heads * width, bias=False)

        self.q_semantic_proj = linear(heads, c.semantic_dim)
        self.k_semantic_proj = linear(groups, c.semantic_dim)
        self.q_geometric_proj = linear(heads, c.geometric_dim)
        self.k_geometric_proj = linear(groups, c.geometric_dim)
        self.v_proj = linear(groups, c.value_dim)
        self.o_proj = nn.Linear(heads * c.value_dim, c.hidden_size, bias=False)
        self.q_semantic_norm = RMSNorm(c.semantic_dim, eps)
        self.k_semantic_norm = RMSNorm(c.semantic_dim, eps)
        self.q_geometric_norm = RMSNorm(c.geometric_dim, eps)
        self.k_geometric_norm = RMSNorm(c.geometric_dim, eps)

    def forward(
        self, x: Tensor, rope: Rope, mask: Tensor | None, cache: KVCache | None, layer: int
    ) -> Tensor:
        B, T, _ = x.shape
        c = self.config

        def heads(projected: Tensor, width: int) -> Tensor:
            return projected.view(B, T, -1, width).transpose(1, 2)  # (B, heads, T, width)

        q_semantic = self.q_semantic_norm(heads(self.q_semantic_proj(x), c.semantic_dim))
        k_semantic = self.k_semantic_norm(heads(self.k_semantic_proj(x), c.semantic_dim))
        q_geometric = self.q_geometric_norm(heads(self.q_geometric_proj(x), c.geometric_dim))
        k_geometric = self.k_geometric_norm(heads(self.k_geometric_proj(x), c.geometric_dim))
        q_geometric, k_geometric = rotate(q_geometric, rope), rotate(k_geometric, rope)
        v = heads(self.v_proj(x), c.value_dim)  # (B, Hkv, T, Dv)
        if cache is not None:
            k_semantic, k_geometric, v = cache.update(layer, k_semantic, k_geometric, v)
        # Each part by its own width, so that neither drowns the other: the scores are their sum.
        q = [q_semantic * c.semantic_dim**-0.5, q_geometric * c.geometric_dim**-0.5]
        k = [k_semantic.to(x.dtype), k_geometric.to(x.dtype)]
        out = attend(torch.cat(q, -1), torch.cat(k, -1), v, mask, 1.0)  # (B, H, T, Dv)
        return self.o_proj(out.transpose(1, 2).reshape(B, T, -1))  # (B, T, hidden)
