"""Graphemes to phones: how a written word sounds, learned, with no dictionary behind it.

Every letter gets three slots, a bidirectional transformer labels each slot with a phone or with
nothing, and CTC sums over the ways to place the phones: no alignment is needed in training and no
loop in use. It reads words one by one: context ("read", "live") does not help it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.block import Block, BlockConfig, RMSNorm, init_weights, run_blocks
from models.phones import PAD_ID, PHONES

LETTERS = "abcdefghijklmnopqrstuvwxyz'"
SLOTS = 3  # per letter: "x" can be three phones
LONGEST = 32  # letters


@dataclass
class G2PConfig:
    """Widths in channels."""

    hidden_size: int = 112
    num_layers: int = 3
    num_heads: int = 4
    intermediate_size: int = 288
    rope_theta: float = 1000.0

    def block(self) -> BlockConfig:
        """Sizes of one block."""
        sizes = self.hidden_size, self.num_heads, self.intermediate_size
        return BlockConfig.of_heads(*sizes, self.rope_theta)


def letters_to_ids(words: Sequence[str]) -> Tensor:
    """Words -> (B, L) letter ids, 0 = padding."""
    longest = max(min(len(word), LONGEST) for word in words)
    rows = [[LETTERS.index(c) + 1 for c in word[:LONGEST]] for word in words]
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


class GraphemeToPhone(nn.Module):
    """Letter ids (B, L) -> log-probabilities of phones (B, 3L, phones)."""

    def __init__(self, config: G2PConfig):
        super().__init__()
        self.config = config
        self.letter = nn.Embedding(len(LETTERS) + 1, config.hidden_size)
        self.slot = nn.Embedding(SLOTS, config.hidden_size)
        self.layers = nn.ModuleList(Block(config.block()) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size)
        self.head = nn.Linear(config.hidden_size, len(PHONES))
        self.apply(init_weights)

    def forward(self, letters: Tensor) -> Tensor:
        B, L = letters.shape
        x = self.letter(letters)[:, :, None] + self.slot.weight  # (B, L, 3, D)
        x = x.reshape(B, L * SLOTS, -1)  # (B, 3L, D)
        real = (letters > 0).repeat_interleave(SLOTS, 1)  # (B, 3L)
        x = run_blocks(self.layers, x, self.config.block(), real)
        return F.log_softmax(self.head(self.norm(x)).float(), -1)  # (B, 3L, phones)

    def loss(self, letters: Tensor, phones: Tensor) -> Tensor:
        """CTC, summed over words. letters (B, L), phones (B, P), both padded with 0."""
        scores = self(letters).transpose(0, 1)  # (3L, B, phones)
        slots = (letters > 0).sum(1) * SLOTS
        lengths = (phones != PAD_ID).sum(1)
        return F.ctc_loss(scores, phones, slots, lengths, blank=PAD_ID, reduction="sum")

    @torch.no_grad()
    def phones(self, words: Sequence[str]) -> list[list[int]]:
        """Phone ids of each word, at least one a word: best label per slot, repeats merged.

        Words longer than the network was trained on are read in parts.
        """
        if not words:
            return []
        parts = [split_long(word) for word in words]
        letters = letters_to_ids([part for row in parts for part in row])
        letters = letters.to(self.head.weight.device)
        scores = self(letters)  # (B, 3L, phones)
        blank = (letters == 0).repeat_interleave(SLOTS, 1)  # (B, 3L)
        best = scores.argmax(-1).masked_fill(blank, PAD_ID)  # (B, 3L)
        sounding = scores.masked_fill(blank[..., None], -torch.inf)[..., PAD_ID + 1 :]
        loudest = sounding.amax(1).argmax(-1) + PAD_ID + 1  # (B,) for a row of blanks
        read = iter([_collapse(row) or [one] for row, one in zip(best.tolist(), loudest.tolist())])
        return [[phone for _ in row for phone in next(read)] for row in parts]


def split_long(word: str) -> list[str]:
    """The word in equal parts of at most LONGEST letters."""
    count = -(-len(word) // LONGEST)
    size = -(-len(word) // max(count, 1))
    return [word[at : at + size] for at in range(0, len(word), size)]


def _collapse(labels: list[int]) -> list[int]:
    """CTC labels of the slots -> phones: repeats merged, blanks dropped."""
    pairs = zip(labels, [PAD_ID, *labels])
    return [label for label, before in pairs if label not in (PAD_ID, before)]


def can_learn(word: str, phones: Sequence[int]) -> bool:
    """Whether CTC has slots for this word: one a phone, and one more between equal neighbours."""
    repeats = sum(a == b for a, b in zip(phones, phones[1:], strict=False))
    known = 0 < len(word) <= LONGEST and all(c in LETTERS for c in word)
    return known and 0 < len(phones) and len(phones) + repeats <= SLOTS * len(word)
