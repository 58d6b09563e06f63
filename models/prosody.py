"""Prosody: how long each phone lasts and how high it is said (a variance predictor).

A small bidirectional transformer over phones, word starts, the mark that ends each phrase, and the
voice. It predicts durations and pitch side by side, as FastSpeech 2 does (arXiv:2006.04558), so
that a question can rise and a clause can fall. Where pauses stand is decided by the punctuation.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.block import Block, BlockConfig, RMSNorm, init_weights, run_blocks
from models.phones import MARKS, PAD_ID, PHONES

TYPICAL = 0.08  # seconds; the network predicts the logarithm of the ratio to it
SHORTEST, LONGEST = 0.01, 1.0  # seconds
TYPICAL_PITCH = 150.0  # Hz; pitch is the binary logarithm of the ratio to it, in octaves
PITCH_WEIGHT, VOICING_WEIGHT = 2.0, 0.1  # of an octave, and of a nat of voicing, beside a nat of duration


@dataclass
class ProsodyConfig:
    """Widths in channels."""

    hidden_size: int = 128
    num_layers: int = 3
    num_heads: int = 4
    num_voices: int = 4
    rope_theta: float = 1000.0

    def block(self) -> BlockConfig:
        """Sizes of one block."""
        inner = self.hidden_size * 7 // 3
        return BlockConfig.of_heads(self.hidden_size, self.num_heads, inner, self.rope_theta)


def octaves(hertz: Tensor) -> Tensor:
    """Pitch in octaves above `TYPICAL_PITCH`; 0 where there is none."""
    return torch.where(hertz > 0, torch.log2(hertz.clamp(min=1.0) / TYPICAL_PITCH), 0.0)


class ProsodyModel(nn.Module):
    """phones, word starts 0/1, marks (B, P) and voice (B,) -> log durations, octaves, voicing."""

    def __init__(self, config: ProsodyConfig):
        super().__init__()
        self.config = config
        self.phone = nn.Embedding(len(PHONES), config.hidden_size)
        self.start = nn.Embedding(2, config.hidden_size)
        self.mark = nn.Embedding(len(MARKS), config.hidden_size)
        self.voice = nn.Embedding(config.num_voices, config.hidden_size)
        self.layers = nn.ModuleList(Block(config.block()) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size)
        self.head = nn.Linear(config.hidden_size, 3)
        self.apply(init_weights)

    def forward(self, phones: Tensor, starts: Tensor, marks: Tensor, voice: Tensor) -> Tensor:
        """(B, P, 3)"""
        x = self.phone(phones) + self.start(starts) + self.mark(marks) + self.voice(voice)[:, None]
        x = run_blocks(self.layers, x, self.config.block(), phones != PAD_ID)  # (B, P, D)
        return self.head(self.norm(x)).float()  # (B, P, 3)

    def loss(
        self, phones: Tensor, starts: Tensor, marks: Tensor, voice: Tensor, seconds: Tensor,
        hertz: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Losses of durations and of pitch, each summed over real phones.

        Args:
            hertz: (B, P) pitch of each phone, 0 where it is not voiced.
        """
        length, height, voicing = self(phones, starts, marks, voice).unbind(-1)  # (B, P) each
        real, voiced = phones != PAD_ID, hertz > 0
        true = torch.log(seconds.clamp(min=SHORTEST) / TYPICAL)
        duration = F.smooth_l1_loss(length, true, reduction="none", beta=0.5) * real
        apart = F.smooth_l1_loss(height, octaves(hertz), reduction="none", beta=0.1) * voiced
        told = F.binary_cross_entropy_with_logits(voicing, voiced.float(), reduction="none") * real
        return duration.sum(), PITCH_WEIGHT * apart.sum() + VOICING_WEIGHT * told.sum()

    @torch.no_grad()
    def predict(
        self, phones: Tensor, starts: Tensor, marks: Tensor, voice: Tensor, speed: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Seconds and pitch in Hz of each phone, (B, P) each; 0 where there is no phone, no pitch."""
        length, height, voicing = self(phones, starts, marks, voice).unbind(-1)  # (B, P) each
        real = phones != PAD_ID
        seconds = (length.exp() * TYPICAL / speed).clamp(SHORTEST, LONGEST) * real
        return seconds, torch.where(real & (voicing > 0), TYPICAL_PITCH * torch.exp2(height), 0.0)
