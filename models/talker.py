"""The Talker: phones with durations and pitch, and a voice -> codec codes, a 40 ms frame at a time.

Every frame knows which phones it overlaps (the alignment), so there is nothing to learn about
where in the text the speech is, and it ends when the phones do. A bidirectional encoder reads the
phones; a causal transformer makes the frames, each from its phones and the frame before; within a
frame the codebooks are predicted one after another, each from those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.alignment import PLACES, Alignment, align, count_frames
from models.block import (
    Block,
    BlockConfig,
    RMSNorm,
    SwiGLU,
    causal_mask,
    init_weights,
    rope_table,
    run_blocks,
)
from models.cache import KVCache
from models.checkpoint import Pretrained
from models.errors import UserError
from models.phones import MARKS, PAD_ID, PHONES
from models.prosody import octaves


@dataclass
class TalkerConfig:
    """Widths in channels."""

    hidden_size: int = 192
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 48
    intermediate_size: int = 448
    rope_theta: float = 10_000.0
    encoder_size: int = 128
    encoder_layers: int = 2
    depth_size: int = 256  # feed-forward width of the within-frame predictor
    num_voices: int = 4
    num_codebooks: int = 8
    codebook_size: int = 1024
    codebook_dim: int = 64
    frame_seconds: float = 0.04  # 25 Hz, the codec's frame

    def encoder_block(self) -> BlockConfig:
        """Sizes of a block that reads phones."""
        size = self.encoder_size
        return BlockConfig.of_heads(size, 4, size * 11 // 4, self.rope_theta)


@dataclass
class Script:
    """What is to be said, phone by phone: (B, P) each, 0 on padding, and the voice (B,)."""

    phones: Tensor
    starts: Tensor  # 1 where a word begins
    marks: Tensor  # which mark ends the phrase
    hertz: Tensor  # pitch, 0 where the phone is not voiced
    voice: Tensor


class Talker(Pretrained):
    """Phones, durations and a voice -> codes (B, T, K)."""

    config_class = TalkerConfig

    def __init__(self, config: TalkerConfig):
        super().__init__()
        self.config = config
        wide, dim, K = config.encoder_size, config.hidden_size, config.num_codebooks
        self.phone = nn.Embedding(len(PHONES), wide)
        self.start = nn.Embedding(2, wide)
        self.mark = nn.Embedding(len(MARKS), wide)
        self.pitch = nn.Linear(2, wide)  # octaves, and whether the phone is voiced
        self.voice = nn.Embedding(config.num_voices, wide)
        self.encoder = nn.ModuleDict({
            "layers": nn.ModuleList(Block(config.encoder_block()) for _ in range(config.encoder_layers)),
            "norm": RMSNorm(wide),
        })
        self.from_phones = nn.Linear(wide + PLACES, dim)
        self.from_codes = nn.Linear(K * config.codebook_dim, dim)
        sizes = BlockConfig.of_decoder(config)
        self.layers = nn.ModuleList(Block(sizes) for _ in range(config.num_hidden_layers))
        self.norm = RMSNorm(dim)
        self.deeper = nn.ModuleList(nn.Linear(config.codebook_dim, dim) for _ in range(K - 1))
        depth = BlockConfig(dim, 1, 1, dim, config.depth_size)
        self.depth_norm, self.depth = RMSNorm(dim), SwiGLU(depth)
        # Logits are dot products with the code vectors (tied weights), so a head is small.
        self.heads = nn.ModuleList(nn.Linear(dim, config.codebook_dim) for _ in range(K))
        self.bias = nn.ParameterList(torch.zeros(config.codebook_size) for _ in range(K))
        # The codec's code vectors, each codebook at unit variance: what a code means to the talker.
        shape = (K, config.codebook_size, config.codebook_dim)
        # They are the codec's to save; `set_codebooks` brings them.
        self.register_buffer("codebooks", torch.zeros(shape), persistent=False)
        self.apply(init_weights)

    def set_codebooks(self, codebooks: Tensor) -> None:
        """Take over the codec's codebooks (K, N, D), each at unit variance; they stay fixed."""
        self.codebooks.copy_(codebooks / codebooks.std(dim=(1, 2), keepdim=True))

    def vectors(self, codes: Tensor) -> Tensor:
        """codes (B, T, K) -> their vectors (B, T, K, D)."""
        if not self.codebooks.any():
            raise UserError("the talker has no codebooks yet: call set_codebooks with the codec's")
        return torch.stack(
            [self.codebooks[k][codes[..., k]] for k in range(self.config.num_codebooks)], dim=-2
        )

    def condition(self, script: Script, where: Alignment) -> Tensor:
        """What each frame must say: (B, T, D)."""
        phones, pitch = script.phones, torch.stack([octaves(script.hertz), script.hertz > 0], -1)
        x = self.phone(phones) + self.start(script.starts) + self.mark(script.marks)
        x = x + self.pitch(pitch.to(x.dtype)) + self.voice(script.voice)[:, None]  # (B, P, E)
        x = run_blocks(self.encoder["layers"], x, self.config.encoder_block(), phones != PAD_ID)
        x = self.encoder["norm"](x)
        frames = where.share.to(x.dtype) @ x  # (B, T, E)
        return self.from_phones(torch.cat([frames, where.place.to(x.dtype)], -1))

    def frames(
        self, condition: Tensor, before: Tensor, cache: KVCache | None = None,
        starts: Tensor | None = None,
    ) -> Tensor:
        """Hidden states of frames (B, T, D).

        Args:
            condition: (B, T, D) of these frames.
            before: (B, T, K·64) code vectors of the frame BEFORE each of them; zeros at the first.
            cache: holds earlier frames.
            starts: (B,) where each row's first frame is in the cache, when T is 1; None: at 0.
        """
        T, past = condition.shape[1], cache.length if cache is not None else 0
        x = condition + self.from_codes(before.to(condition.dtype))
        positions = torch.arange(past, past + T, device=x.device)  # (T,)
        mask = causal_mask(T, past + T, x.device) if T > 1 else None
        if starts is not None:
            mask = torch.arange(past + T, device=x.device) >= starts[:, None]  # (B, S)
            positions, mask = positions - starts[:, None], mask[:, None, None]
        rope = rope_table(positions, self.config.head_dim, self.config.rope_theta)
        for i, layer in enumerate(self.layers):
            x = layer(x, rope, mask=mask, cache=cache, layer=i)
        if cache is not None:
            cache.advance(T)
        return self.norm(x)

    def score(self, k: int, x: Tensor) -> Tensor:
        """Logits of codebook k from the within-frame state. (…, D) -> (…, 1024)"""
        vector = self.heads[k](x + self.depth(self.depth_norm(x)))  # (…, 64)
        return F.linear(vector, self.codebooks[k].to(vector.dtype), self.bias[k].to(vector.dtype))

    def forward(
        self, script: Script, where: Alignment, codes: Tensor, heard: Tensor | None = None
    ) -> list[Tensor]:
        """Teacher-forced logits, one (B, T, 1024) per codebook.

        Args:
            codes: (B, T, K) the true codes; frame t is predicted from frames before t.
            heard: (B, T, K·64) the code vectors to hear instead of the true ones (noise).
        """
        vectors = self.vectors(codes)  # (B, T, K, 64)
        heard = vectors.flatten(2) if heard is None else heard
        before = F.pad(heard, (0, 0, 1, 0))[:, :-1]  # (B, T, K·64) one frame later
        x = self.frames(self.condition(script, where), before)
        logits = [self.score(0, x)]
        for k, deeper in enumerate(self.deeper):
            x = x + deeper(vectors[:, :, k].to(x.dtype))
            logits.append(self.score(k + 1, x))
        return logits

    @torch.no_grad()
    def generate(
        self, script: Script, seconds: Tensor, temperature: float = 0.6, seed: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Codes (B, T, K) and frames (B,): all of `stream`, which has the same arguments."""
        made = self.stream(script, seconds, temperature, seed)
        return torch.stack(list(made), 1), count_frames(seconds, self.config.frame_seconds)

    @torch.no_grad()
    def stream(
        self, script: Script, seconds: Tensor, temperature: float = 0.6, seed: int = 0
    ) -> Iterator[Tensor]:
        """Codes (B, K) of one frame after another; 0 in a row that has ended.

        A row's result does not depend on the other rows of the batch.

        Args:
            temperature: 0 takes the most likely code.
        """
        if not self.codebooks.any():
            raise UserError("the talker has no codebooks yet: call set_codebooks with the codec's")
        where = align(seconds, self.config.frame_seconds)
        condition = self.condition(script, where)  # (B, T, D)
        B, T, _ = condition.shape
        cache = self.new_cache(B, T, condition)
        noises = [torch.Generator().manual_seed(seed) for _ in range(B)]
        vectors = condition.new_zeros(B, self.from_codes.in_features)  # (B, K·64) of the frame before
        for t in range(T):
            x = self.frames(condition[:, t : t + 1], vectors[:, None], cache)[:, -1]  # (B, D)
            codes, vectors = self.frame(x, temperature, noises)  # (B, K), (B, K·64)
            yield codes.masked_fill((where.frames <= t)[:, None], 0)

    def new_cache(self, batch: int, frames: int, like: Tensor) -> KVCache:
        """An empty cache for `frames` frames."""
        c = self.config
        return KVCache(
            c.num_hidden_layers, batch, c.num_key_value_heads, frames, c.head_dim,
            like.dtype, like.device,
        )

    def frame(
        self, x: Tensor, temperature: float, noises: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        """One frame from its hidden state (B, D): codes (B, K) and vectors (B, K·64)."""
        codes, vectors = [], []
        for k in range(self.config.num_codebooks):
            if k:
                x = x + self.deeper[k - 1](vectors[-1].to(x.dtype))
            codes.append(draw(self.score(k, x).float(), temperature, noises))  # (B,)
            vectors.append(self.codebooks[k][codes[-1]])  # (B, 64)
        return torch.stack(codes, 1), torch.cat(vectors, 1)


def draw(logits: Tensor, temperature: float, noises: Sequence[torch.Generator]) -> Tensor:
    """One index per row of logits (B, N), each row with its own noise: (B,)"""
    if temperature <= 0:
        return logits.argmax(-1)
    uniform = torch.stack([torch.rand(logits.shape[-1], generator=noise) for noise in noises])
    gumbel = -torch.log(-torch.log(uniform.clamp(1e-9, 1 - 1e-7))).to(logits.device)
    return (logits / temperature + gumbel).argmax(-1)
