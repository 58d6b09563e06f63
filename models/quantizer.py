"""Residual vector quantisation: each codebook names what the ones before it left over.

Codebooks follow an exponential moving average of the vectors they win (no gradient reaches
them); the encoder learns through a straight-through gradient and a commitment loss. Codes that
hardly anybody uses are moved beside those that are used most. Without these three the codebooks
never move, or collapse onto one code. This file refuses to know what the vectors mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

ROUNDS = 8  # of k-means on the first batch
SPLIT = 0.01  # of a codebook's spread: how far a moved code starts from the one it shares with


@dataclass
class Quantized:
    """What a pass through the quantiser yields."""

    latent: Tensor  # (B, T, D) sum of the chosen code vectors, straight-through to the input
    codes: Tensor  # (B, T, K) int64
    commitment: Tensor  # () squared distance to the codes: mean over numbers, sum over codebooks


class ResidualQuantizer(nn.Module):
    """K codebooks of N vectors of D numbers; a vector becomes K integers."""

    def __init__(
        self,
        num_codebooks: int = 8,
        codebook_size: int = 1024,
        dim: int = 64,
        decay: float = 0.98,
        dead_share: float = 0.3,  # of the average code's wins, under which a code is moved
        dropout: float = 0.25,  # share of training examples that keep only the first few codebooks
    ):
        super().__init__()
        self.decay, self.dead_share, self.dropout = decay, dead_share, dropout
        shape = (num_codebooks, codebook_size)
        self.register_buffer("codebooks", torch.randn(*shape, dim))
        self.register_buffer("wins", torch.zeros(shape))  # EMA of wins per batch
        self.register_buffer("ready", torch.zeros(()))  # 1 once initialised from data

    @property
    def num_codebooks(self) -> int:
        return self.codebooks.shape[0]

    @property
    def codebook_size(self) -> int:
        return self.codebooks.shape[1]

    def vectors(self, codes: Tensor) -> Tensor:
        """Codes (..., K) -> the vector of each code (..., K, D)."""
        return torch.stack(
            [self.codebooks[k][codes[..., k]] for k in range(self.num_codebooks)], dim=-2
        )

    def from_codes(self, codes: Tensor, num_codebooks: int | None = None) -> Tensor:
        """Codes (..., K) -> latent (..., D), optionally from the first few codebooks only."""
        keep = num_codebooks or self.num_codebooks
        return self.vectors(codes)[..., :keep, :].sum(-2)

    def forward(self, x: Tensor) -> Quantized:
        """x (B, T, D) -> codes, latent, commitment loss."""
        x = x.float()
        if self.training and not self.ready:
            self._start_from(x.detach().flatten(0, 1))
        kept = self._kept(x)  # (B,) how many codebooks each example uses
        residual, latent, codes = x, torch.zeros_like(x), []
        commitment = x.new_zeros(())
        for k in range(self.num_codebooks):
            index = nearest(residual.detach(), self.codebooks[k])  # (B, T)
            chosen = F.embedding(index, self.codebooks[k])  # (B, T, D)
            uses = (kept > k)[:, None].expand_as(index)  # (B, T)
            if self.training:
                self._follow(k, residual.detach()[uses], index[uses])
            share = uses[..., None].to(x.dtype)
            distance = (residual - chosen.detach()).square() * share
            commitment = commitment + distance.sum() / (share.sum() * x.shape[-1]).clamp(min=1)
            latent = latent + chosen * share
            residual = residual - chosen.detach() * share
            codes.append(index)
        straight_through = x + (latent - x).detach()  # value of the latent, gradient of x
        return Quantized(straight_through, torch.stack(codes, -1), commitment)

    def _kept(self, x: Tensor) -> Tensor:
        kept = torch.full((len(x),), self.num_codebooks, device=x.device)
        if not (self.training and self.dropout):
            return kept
        fewer = torch.randint(1, self.num_codebooks + 1, kept.shape, device=x.device)
        return torch.where(torch.rand(kept.shape, device=x.device) < self.dropout, fewer, kept)

    @torch.no_grad()
    def _start_from(self, x: Tensor) -> None:
        """k-means on the first batch, codebook by codebook, so that every code starts in use."""
        for k in range(self.num_codebooks):
            pick = torch.randint(len(x), (self.codebook_size,), device=x.device)
            book = x[pick] + 1e-3 * x.std() * torch.randn_like(x[pick])
            for _ in range(ROUNDS):
                wins, sums = tally(x, nearest(x, book), self.codebook_size)
                book = torch.where(wins[:, None] > 0, sums / wins[:, None].clamp(min=1), book)
            self.codebooks[k] = book
            x = x - book[nearest(x, book)]
        self.wins.fill_(1.0)
        self.ready.fill_(1.0)
        if dist.is_initialized():
            dist.broadcast(self.codebooks, src=0)

    @torch.no_grad()
    def _follow(self, k: int, x: Tensor, index: Tensor) -> None:
        """Move codebook k towards the vectors (N, D) that chose its codes; revive dead codes."""
        wins, sums = tally(x, index, self.codebook_size)
        if dist.is_initialized():
            dist.all_reduce(wins)
            dist.all_reduce(sums)
        old = self.wins[k][:, None]
        self.wins[k].mul_(self.decay).add_(wins, alpha=1 - self.decay)
        # The sum of past vectors is the code times its wins, so no second buffer is needed.
        moved = self.codebooks[k] * old * self.decay + sums * (1 - self.decay)
        self.codebooks[k] = moved / self.wins[k][:, None].clamp(min=1e-5)
        self._split(k, self.wins[k] < self.dead_share * self.wins[k].mean())

    def _split(self, k: int, dead: Tensor) -> None:
        """Put each dead code (N,) beside one of the most used, to take half of what that wins.

        On a vector of the batch it would stay dead: in many dimensions a cluster's mean is nearer to
        the cluster's vectors than any one of them is (splitting, after Linde, Buzo & Gray 1980).
        """
        count = min(int(dead.sum()), int((~dead).sum()))
        if not count:
            return
        weak = dead.nonzero()[:count, 0]  # (n,)
        strong = self.wins[k].topk(count).indices  # (n,)
        book = self.codebooks[k]
        nudge = SPLIT * book.std() * torch.randn_like(book[strong])  # (n, D)
        if dist.is_initialized():
            dist.broadcast(nudge, src=0)
        book[weak] = book[strong] + nudge
        self.wins[k][strong] /= 2
        self.wins[k][weak] = self.wins[k][strong]


def nearest(x: Tensor, book: Tensor) -> Tensor:
    """Index of the nearest row of book (N, D) to each vector of x (..., D)."""
    with torch.autocast(x.device.type, enabled=False):
        score = x @ book.T - 0.5 * book.square().sum(-1)  # (..., N); |x|² does not matter
    return score.argmax(-1)


def tally(x: Tensor, index: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """How often each index occurs (N,) and the sum of the vectors that chose it (N, D)."""
    wins = torch.bincount(index, minlength=size).to(x.dtype)
    sums = torch.zeros(size, x.shape[-1], device=x.device).index_add_(0, index, x)
    return wins, sums


def perplexity(counts: Tensor) -> Tensor:
    """Effective number of codes in use: exp of the entropy of counts (..., N) -> (...)."""
    share = counts.double() / counts.double().sum(-1, keepdim=True).clamp(min=1)
    return torch.exp(-(share * share.clamp(min=1e-12).log()).sum(-1))
