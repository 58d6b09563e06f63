"""The Thinker: a Qwen3 language model, parameter for parameter.

Reads token ids or ready embeddings (so that pictures and sounds can stand between words) and gives
next-token logits. How it lies on disk is models/qwen3.py's business; it knows nothing of tokenizers,
sampling or chat.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models import decoupled
from models.block import Block, BlockConfig, RMSNorm, Rope, causal_mask, init_weights, rope_table
from models.cache import KVCache
from models.cachekind import parse_cache_kind
from models.qwen3 import Qwen3Folder, Qwen3Json


@dataclass
class ThinkerConfig(Qwen3Json):
    """Hugging Face's names for Qwen3's fields; widths in channels, lengths in tokens."""

    vocab_size: int = 4096
    hidden_size: int = 256
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 704
    max_position_embeddings: int = 1024
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = True
    bos_token_id: int = 1
    eos_token_id: int = 2
    pad_token_id: int | None = 3  # None: a foreign vocabulary that names none
    attention: str = "standard"  # Qwen3's, or dba: decoupled bottleneck, see models.decoupled
    semantic_dim: int = 16  # dba only: of a head's keys without position
    geometric_dim: int = 32  # dba only: of a head's keys with it
    value_dim: int = 32  # dba only: of a head's values

    def __post_init__(self) -> None:
        decoupled.check(self)

    @property
    def decoupled(self) -> bool:
        return self.attention == "dba"

    @property
    def cache_widths(self) -> tuple[int, ...]:
        """Numbers a head stores at each position: of its keys (of each of their parts), its values."""
        if self.decoupled:
            return self.semantic_dim, self.geometric_dim, self.value_dim
        return self.head_dim, self.head_dim


class Decoder(nn.Module):
    """Embeddings, blocks and the last norm; Hugging Face calls it `model`."""

    def __init__(self, config: ThinkerConfig):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        sizes = BlockConfig.of_decoder(config)
        self.layers = nn.ModuleList(
            Block(sizes, decoupled.DecoupledAttention(config) if config.decoupled else None)
            for _ in range(config.num_hidden_layers)
        )
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)


class Thinker(Qwen3Folder):
    """Causal language model over tokens and embeddings."""

    config_class = ThinkerConfig
    int8 = False  # whether the matrices are rounded to 8 bits
    rounded_from = ""  # fingerprint of the weights before that: models.memory

    def __init__(self, config: ThinkerConfig):
        super().__init__()
        self.config = config
        self.model = Decoder(config)
        if not config.tie_word_embeddings:
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.apply(init_weights)
        for layer in self.model.layers:  # residual branches start small: GPT-2's scaling
            for weight in (layer.self_attn.o_proj.weight, layer.mlp.down_proj.weight):
                nn.init.normal_(weight, std=0.02 / (2 * config.num_hidden_layers) ** 0.5)

    def embed(self, ids: Tensor) -> Tensor:
        """Token embeddings. (B, T) -> (B, T, hidden)"""
        return self.model.embed_tokens(ids)

    def new_cache(self, batch: int, max_len: int | None = None, kind: str | None = None) -> KVCache:
        """An empty cache of `max_len` positions (default: the context length).

        Args:
            kind: how it stores numbers, see models.cachekind (default: as the weights do; bf16
                beside int8 weights, whose numbers PyTorch holds in fp32).
        """
        kind = kind or ("bf16" if self.int8 else None)
        c, weight = self.config, self.model.embed_tokens.weight
        length = max_len or c.max_position_embeddings
        sizes = (c.num_hidden_layers, batch, c.num_key_value_heads, length)
        parts = len(c.cache_widths)
        kinds = parse_cache_kind(kind, parts) if kind else (None,) * parts
        kinds = decoupled.fitted(kinds, c.cache_widths) if c.decoupled and kind else kinds
        return KVCache(*sizes, c.cache_widths, weight.dtype, weight.device, kinds)

    def hidden(
        self,
        inputs_embeds: Tensor,
        attention_mask: Tensor | None = None,
        cache: KVCache | None = None,
        packed: Tensor | None = None,
    ) -> Tensor:
        """Final hidden states. (B, T, hidden) -> (B, T, hidden); see `forward`.

        `packed` (B, T) numbers the texts that stand one after another in a row, for training
        without padding: none sees another, and positions begin anew with each.
        """
        B, T, _ = inputs_embeds.shape
        past = cache.length if cache is not None else 0
        S, device = past + T, inputs_embeds.device
        first = cache.first(T) if cache is not None else 0  # a window leaves out what is before
        window = cache.window(T) if cache is not None else None
        mask = causal_mask(T, S - first, device, window) if T > 1 else None  # (1, 1, T, S - first)
        positions = torch.arange(past, S, device=device)  # (T,)
        if packed is not None:
            mask = mask & (packed[:, None, :, None] == packed[:, None, None])  # (B, 1, T, T)
            begins = packed != F.pad(packed, (1, 0), value=-1)[:, :-1]  # (B, T)
            positions = positions - (positions * begins).cummax(-1).values  # (B, T)
        if attention_mask is not None:
            if attention_mask.shape != (B, S):
                raise ValueError(f"attention_mask is {tuple(attention_mask.shape)}, not {(B, S)}")
            real = attention_mask.bool()
            seen = real[:, None, None, first:]  # (B, 1, 1, S - first)
            mask = seen if mask is None else mask & seen
            # Left padding must not shift positions: count real tokens only.
            positions = (real.long().cumsum(-1) - 1).clamp_min(0)[:, past:]  # (B, T)
        x = self.through_layers(inputs_embeds, self.rope(positions), mask, cache)
        if cache is not None:
            cache.advance(T)
        return x

    def rope(self, positions: Tensor) -> Rope:
        """Cosines and sines of positions (T,) or (B, T), see `rope_table`."""
        rotated = self.config.cache_widths[-2]  # of a head's key
        return rope_table(positions, rotated, self.config.rope_theta)

    def through_layers(
        self, x: Tensor, rope: Rope, mask: Tensor | None, cache: KVCache | None
    ) -> Tensor:
        """All blocks and the last norm, see `Block.forward`. (B, T, hidden) -> (B, T, hidden)"""
        for i, layer in enumerate(self.model.layers):
            x = layer(x, rope, mask, cache, i)  # (B, T, hidden)
        return self.model.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Vocabulary scores. (..., hidden) -> (..., vocab)"""
        return hidden @ self.head_weight.T

    @property
    def head_weight(self) -> Tensor:
        """The vocabulary's matrix (vocab, hidden): the embeddings' own where they are tied."""
        tied = self.config.tie_word_embeddings
        return (self.model.embed_tokens if tied else self.lm_head).weight

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: KVCache | None = None,
        packed: Tensor | None = None,
    ) -> Tensor:
        """Next-token logits.

        Args:
            input_ids: (B, T), or give inputs_embeds (B, T, hidden).
            attention_mask: (B, S), 1 for real tokens; S counts cached positions too. None: all
                real. Padding goes on the left.
            cache: read for the positions before these, and extended by them.
            packed: (B, T) which of several texts in a row a token belongs to, see `hidden`.

        Returns:
            (B, T, vocab).
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give exactly one of input_ids and inputs_embeds")
        x = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        return self.logits(self.hidden(x, attention_mask, cache, packed))
