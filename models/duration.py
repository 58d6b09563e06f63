"""How long each phone lasts: phones, where words begin, the pauses, and the voice -> seconds.

A small bidirectional transformer over the sentence. It times pauses as it times phones; where
they stand is decided by the punctuation.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.block import Block, BlockConfig, RMSNorm, init_weights, rope_table
from models.phones import PAD_ID, PHONES

TYPICAL = 0.08  # seconds; the network predicts the logarithm of the ratio to it
SHORTEST, LONGEST = 0.01, 1.0  # seconds


@dataclass
class DurationConfig:
    hidden_size: int = 96
    num_layers: int = 2
    num_heads: int = 4
    num_voices: int = 3
    rope_theta: float = 1000.0

    def block(self) -> BlockConfig:
        """Sizes of one block."""
        width = self.hidden_size // self.num_heads
        return BlockConfig(
            self.hidden_size, self.num_heads, self.num_heads, width, self.hidden_size * 7 // 3,
            self.rope_theta,
        )


class DurationModel(nn.Module):
    """phones (B, P), word starts (B, P) 0/1, voice (B,) -> log durations (B, P)."""

    def __init__(self, config: DurationConfig):
        super().__init__()
        self.config = config
        self.phone = nn.Embedding(len(PHONES), config.hidden_size)
        self.start = nn.Embedding(2, config.hidden_size)
        self.voice = nn.Embedding(config.num_voices, config.hidden_size)
        self.layers = nn.ModuleList(Block(config.block()) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size)
        self.head = nn.Linear(config.hidden_size, 1)
        self.apply(init_weights)

    def forward(self, phones: Tensor, starts: Tensor, voice: Tensor) -> Tensor:
        x = self.phone(phones) + self.start(starts) + self.voice(voice)[:, None]  # (B, P, D)
        config = self.config.block()
        positions = torch.arange(phones.shape[1], device=phones.device)
        rope = rope_table(positions, config.head_dim, config.rope_theta)
        mask = (phones != PAD_ID)[:, None, None]
        for layer in self.layers:
            x = layer(x, rope, mask=mask)
        return self.head(self.norm(x)).squeeze(-1).float()  # (B, P)

    def loss(self, phones: Tensor, starts: Tensor, voice: Tensor, seconds: Tensor) -> Tensor:
        """Huber distance of log durations, summed over real phones."""
        true = torch.log(seconds.clamp(min=SHORTEST) / TYPICAL)
        apart = F.smooth_l1_loss(self(phones, starts, voice), true, reduction="none", beta=0.5)
        return (apart * (phones != PAD_ID)).sum()

    @torch.no_grad()
    def seconds(self, phones: Tensor, starts: Tensor, voice: Tensor, speed: float = 1.0) -> Tensor:
        """Durations in seconds (B, P), 0 where there is no phone."""
        lengths = self(phones, starts, voice).exp() * TYPICAL / speed
        return lengths.clamp(SHORTEST, LONGEST) * (phones != PAD_ID)
