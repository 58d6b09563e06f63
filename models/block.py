"""The transformer block of the Thinker, both encoders, the Talker and the text front end.

Pre-norm attention with grouped queries, QK-norm and rotary positions, then SwiGLU: Qwen3's block,
with its parameter names. Causal or not is a matter of the mask. Attention is written out as two
matrix products: at our lengths its CPU backward pass is quicker than SDPA's, and it can be read.

Papers: RMSNorm arXiv:1910.07467, RoPE arXiv:2104.09864, GQA arXiv:2305.13245,
SwiGLU arXiv:2002.05202, QK-norm arXiv:2010.04245, Qwen3 arXiv:2505.09388.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.cache import KVCache
from models.errors import UserError

Rope = tuple[Tensor, Tensor]


@dataclass
class BlockConfig:
    """Sizes of one block; widths in channels."""

    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        if min(self.num_heads, self.num_kv_heads) < 1 or self.num_heads % self.num_kv_heads:
            raise UserError(f"{self.num_heads} heads cannot share {self.num_kv_heads} of keys and values")
        if self.head_dim < 2 or self.head_dim % 2:
            raise UserError(f"head_dim is {self.head_dim}: RoPE wants it even, and at least 2")

    @classmethod
    def of(cls, config) -> "BlockConfig":
        """The sizes that an encoder's config has under the same names."""
        names = ("hidden_size", "num_heads", "num_kv_heads", "head_dim", "intermediate_size")
        return cls(*(getattr(config, name) for name in names))

    @classmethod
    def of_heads(cls, width: int, heads: int, inner: int, theta: float) -> "BlockConfig":
        """Sizes where the heads share the width, and each has keys and values of its own."""
        return cls(width, heads, heads, width // heads, inner, theta)

    @classmethod
    def of_decoder(cls, config) -> "BlockConfig":
        """The sizes that a decoder's config has under Hugging Face's names."""
        heads = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        eps = getattr(config, "rms_norm_eps", cls.norm_eps)
        return cls(config.hidden_size, *heads, config.intermediate_size, config.rope_theta, eps)


def rope_frequencies(head_dim: int, theta: float, device: str | torch.device = "cpu") -> Tensor:
    """Radians that a pair of channels turns from one position to the next. (head_dim / 2,)"""
    steps = torch.arange(0, head_dim, 2, device=device, dtype=torch.float32)
    return theta ** (-steps / head_dim)


def rope_table(positions: Tensor, head_dim: int, theta: float) -> Rope:
    """Cosines and sines of rotary positions. (B, T) or (T,) -> two of (B or 1, 1, T, head_dim)"""
    frequencies = rope_frequencies(head_dim, theta, positions.device)  # (head_dim / 2,)
    if positions.dim() == 1:
        positions = positions[None]  # (1, T)
    angles = positions[..., None].float() * frequencies  # (B, T, head_dim / 2)
    angles = torch.cat([angles, angles], dim=-1)[:, None]  # (B, 1, T, head_dim)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, rope: Rope) -> Tensor:
    """Rotate pairs (i, i + head_dim/2) by their position's angle. (B, H, T, head_dim)"""
    cos, sin = rope
    first, second = x.chunk(2, dim=-1)  # (B, H, T, head_dim / 2) each
    return x * cos.to(x.dtype) + torch.cat([-second, first], dim=-1) * sin.to(x.dtype)


def causal_mask(
    queries: int, keys: int, device: str | torch.device = "cpu", window: int | None = None
) -> Tensor:
    """True where a query may look: the last `queries` of `keys` positions. (1, 1, T, S)

    Query i stands at position keys - queries + i and sees every key up to itself, or the nearest
    `window` of them. (Written as `tril(ones(1, S))` a single new token would see position 0 alone:
    a classic mistake.)
    """
    position = torch.arange(keys - queries, keys, device=device)[:, None]  # (T, 1)
    key = torch.arange(keys, device=device)[None]  # (1, S)
    seen = key <= position  # (T, S)
    if window is not None:
        seen &= key > position - window
    return seen[None, None]


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Softmax attention with grouped queries.

    Args:
        q: (B, H, T, D).
        k, v: (B, Hkv, S, D) and (B, Hkv, S, Dv), H a multiple of Hkv.
        mask: see `Block.forward`.

    Returns:
        (B, H, T, Dv).
    """
    B, H, T, D = q.shape
    groups, S = k.shape[1:3]
    # The query heads of one group share a key-value head: put them side by side as rows.
    q = q.reshape(B, groups, -1, D)  # (B, Hkv, G*T, D)
    scores = q @ k.to(q.dtype).transpose(-1, -2) * scale  # (B, Hkv, G*T, S)
    if mask is not None:
        scores = scores.view(B, groups, -1, T, S)  # (B, Hkv, G, T, S)
        scores = scores.masked_fill(~mask[:, :, None], torch.finfo(scores.dtype).min)
        scores = scores.view(B, groups, -1, S)  # (B, Hkv, G*T, S)
    weights = F.softmax(scores.float(), dim=-1).to(q.dtype)
    return (weights @ v.to(q.dtype)).view(B, H, T, -1)


class RMSNorm(nn.Module):
    """x / rms(x) * weight over the last dimension, computed in fp32."""

    def __init__(self, size: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight.to(x.dtype) * wide.to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention with normalised queries and keys."""

    def __init__(self, config: BlockConfig):
        super().__init__()
        self.num_heads, self.num_kv_heads = config.num_heads, config.num_kv_heads
        self.head_dim = config.head_dim
        query_width = config.num_heads * config.head_dim
        kv_width = config.num_kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, query_width, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.o_proj = nn.Linear(query_width, config.hidden_size, bias=False)
        self.q_norm = RMSNorm(config.head_dim, config.norm_eps)
        self.k_norm = RMSNorm(config.head_dim, config.norm_eps)

    def forward(
        self, x: Tensor, rope: Rope, mask: Tensor | None, cache: KVCache | None, layer: int
    ) -> Tensor:
        B, T, _ = x.shape
        q = self.q_proj(x).view(B, T, self.num_heads, self.head_dim)  # (B, T, H, D)
        k = self.k_proj(x).view(B, T, self.num_kv_heads, self.head_dim)  # (B, T, Hkv, D)
        v = self.v_proj(x).view(B, T, self.num_kv_heads, self.head_dim).transpose(1, 2)
        q = rotate(self.q_norm(q).transpose(1, 2), rope)  # (B, H, T, D)
        k = rotate(self.k_norm(k).transpose(1, 2), rope)  # (B, Hkv, T, D)
        if cache is not None:
            k, v = cache.update(layer, k, v)  # (B, Hkv, S, D)
        out = attend(q, k, v, mask, self.head_dim**-0.5)  # (B, H, T, D)
        return self.o_proj(out.transpose(1, 2).reshape(B, T, -1))  # (B, T, hidden)


class SwiGLU(nn.Module):
    """Gated feed-forward: down(silu(gate(x)) * up(x))."""

    def __init__(self, config: BlockConfig):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)). (B, T, hidden) -> the same."""

    def __init__(self, config: BlockConfig, attention: nn.Module | None = None):
        """`attention` stands in for the usual one, with the same `forward`."""
        super().__init__()
        self.self_attn = attention or Attention(config)
        self.mlp = SwiGLU(config)
        self.input_layernorm = RMSNorm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.norm_eps)

    def forward(
        self,
        x: Tensor,
        rope: Rope,
        mask: Tensor | None = None,
        cache: KVCache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """Run the block.

        Args:
            x: (B, T, hidden).
            rope: cosines and sines of the T positions, from `rope_table`.
            mask: bool, broadcastable to (B, 1, T, S); True where a query may look. None: all.
            cache: holds earlier keys and values; S then counts those too.
            layer: which layer of the cache is this block's.
        """
        x = x + self.self_attn(self.input_layernorm(x), rope, mask, cache, layer)
        return x + self.mlp(self.post_attention_layernorm(x))


def run_blocks(layers, x: Tensor, sizes: BlockConfig, real: Tensor | None = None) -> Tensor:
    """Whole sequences (B, T, D) through blocks, without a cache; where `real` (B, T) is False is padding."""
    rope = rope_table(torch.arange(x.shape[1], device=x.device), sizes.head_dim, sizes.rope_theta)
    mask = None if real is None else real[:, None, None]  # (B, 1, 1, T)
    for layer in layers:
        x = layer(x, rope, mask)
    return x


def init_weights(module: nn.Module, std: float = 0.02) -> None:
    """Normal(0, std) for linear and embedding weights, zero for biases; use with `.apply`."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=std)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
