"""Decoupled bottleneck attention: what a token is about and where it stands, in keys of their own.

score = q_semantic · k_semantic + q_geometric · k_geometric. Only the geometric part is rotated by
position; both are narrow, as values are, so that a cache holds fewer numbers a token. It is no
Qwen3: an option of ThinkerConfig, for experiments.

DeepSeek-V2 (arXiv:2405.04434) parts keys likewise, and caches a latent from which the first part is
made again; here the narrow keys themselves are kept, and nothing is made again.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.block import RMSNorm, Rope, attend, rotate
from models.cache import KVCache


@dataclass(frozen=True)
class DecoupledConfig:
    """Sizes of one decoupled attention; widths in channels, of one head."""

    hidden_size: int
    num_heads: int
    num_kv_heads: int
    semantic_dim: int
    geometric_dim: int  # even: it is rotated in pairs
    value_dim: int
    norm_eps: float = 1e-6


class DecoupledAttention(nn.Module):
    """Grouped-query attention over semantic and geometric keys, both normalised."""

    def __init__(self, config: DecoupledConfig):
        super().__init__()
        self.config = c = config

        def linear(heads: int, width: int) -> nn.Linear:
            return nn.Linear(c.hidden_size, heads * width, bias=False)

        self.q_semantic_proj = linear(c.num_heads, c.semantic_dim)
        self.k_semantic_proj = linear(c.num_kv_heads, c.semantic_dim)
        self.q_geometric_proj = linear(c.num_heads, c.geometric_dim)
        self.k_geometric_proj = linear(c.num_kv_heads, c.geometric_dim)
        self.v_proj = linear(c.num_kv_heads, c.value_dim)
        self.o_proj = nn.Linear(c.num_heads * c.value_dim, c.hidden_size, bias=False)
        self.q_semantic_norm = RMSNorm(c.semantic_dim, c.norm_eps)
        self.k_semantic_norm = RMSNorm(c.semantic_dim, c.norm_eps)
        self.q_geometric_norm = RMSNorm(c.geometric_dim, c.norm_eps)
        self.k_geometric_norm = RMSNorm(c.geometric_dim, c.norm_eps)

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
