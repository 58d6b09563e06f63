"""Discriminators that tell a vocoder's waveform from a recording: for its training alone.

Multi-period (after HiFi-GAN): the waveform is folded into a picture of `period` columns, so that
what repeats from period to period is near. Multi-resolution (after UnivNet): magnitudes of spectra
of several window lengths. Both score patches, and hand out what their layers saw, for feature
matching. They are not shipped.

Papers: HiFi-GAN arXiv:2010.05646, UnivNet arXiv:2106.07889, Vocos arXiv:2306.00814.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

PERIODS = (2, 3, 5, 7, 11)  # samples; primes, so that they share few multiples
RESOLUTIONS = ((1024, 256), (512, 128), (256, 64))  # (window, hop) in samples
SLOPE = 0.1  # of the leaky rectifier
Seen = list[Tensor]  # the outputs of the layers of one discriminator


def conv(inputs: int, outputs: int, kernel: tuple[int, int], stride: tuple[int, int]) -> nn.Module:
    """A convolution with weight normalisation that keeps the size, but for its stride."""
    padding = (kernel[0] // 2, kernel[1] // 2)
    return weight_norm(nn.Conv2d(inputs, outputs, kernel, stride, padding))


class PatchStack(nn.Module):
    """Convolutions over a picture (B, 1, H, W) -> scores of patches, and every layer's output."""

    def __init__(self, layers: list[nn.Module], width: int):
        super().__init__()
        self.convolutions = nn.ModuleList(layers)
        self.score = conv(width, 1, (3, 1), (1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Seen]:
        seen = []
        for layer in self.convolutions:
            x = F.leaky_relu(layer(x), SLOPE)  # (B, C, H', W')
            seen.append(x)
        return self.score(x).flatten(1), seen


class PeriodDiscriminator(PatchStack):
    """Judges a waveform (B, samples) folded into columns of one period."""

    def __init__(self, period: int, widths: tuple[int, ...]):
        sizes = [(1, widths[0]), *zip(widths, widths[1:], strict=False)]
        super().__init__([conv(a, b, (5, 1), (3, 1)) for a, b in sizes], widths[-1])
        self.period = period

    def forward(self, wave: Tensor) -> tuple[Tensor, Seen]:
        folded = F.pad(wave, (0, -wave.shape[-1] % self.period))
        return super().forward(folded.reshape(len(wave), 1, -1, self.period))  # (B, 1, n, period)


class ResolutionDiscriminator(PatchStack):
    """Judges the magnitudes of a waveform's spectrum at one resolution."""

    def __init__(self, window: int, hop: int, widths: tuple[int, ...]):
        sizes = [(1, widths[0]), *zip(widths, widths[1:], strict=False)]
        super().__init__([conv(a, b, (5, 3), (3, 2)) for a, b in sizes], widths[-1])
        self.size, self.hop = window, hop
        self.register_buffer("window", torch.hann_window(window), persistent=False)

    def forward(self, wave: Tensor) -> tuple[Tensor, Seen]:
        with torch.autocast(wave.device.type, enabled=False):
            out = torch.stft(wave.float(), self.size, self.hop, self.size, self.window, return_complex=True)
            power = out.real.square() + out.imag.square()  # (B, F, T)
            level = (power + 1e-9).sqrt().pow(0.3)  # a loudness: quiet bins count, too
        return super().forward(level[:, None, :-1])  # (B, 1, F - 1, T): an even number of bins


class Discriminators(nn.Module):
    """All of them: waveform (B, samples) -> scores and layers' outputs of each."""

    def __init__(
        self, period_widths: tuple[int, ...] = (16, 32, 64, 128),
        resolution_widths: tuple[int, ...] = (16, 32, 64, 64),
        periods: tuple[int, ...] = PERIODS, resolutions: tuple = RESOLUTIONS,
    ):
        super().__init__()
        self.judges = nn.ModuleList(
            [*(PeriodDiscriminator(p, tuple(period_widths)) for p in periods),
             *(ResolutionDiscriminator(*r, tuple(resolution_widths)) for r in resolutions)]
        )

    def forward(self, wave: Tensor) -> tuple[list[Tensor], list[Seen]]:
        scores, seen = zip(*(judge(wave) for judge in self.judges), strict=True)
        return list(scores), list(seen)


def discriminator_loss(real: list[Tensor], made: list[Tensor]) -> Tensor:
    """Hinge: recordings are to score above 1, made waveforms below -1. Mean over discriminators."""
    losses = [F.relu(1 - r).mean() + F.relu(1 + m).mean() for r, m in zip(real, made, strict=True)]
    return torch.stack(losses).mean()


def generator_loss(made: list[Tensor]) -> Tensor:
    """How far made waveforms are from scoring above 1."""
    return torch.stack([F.relu(1 - scores).mean() for scores in made]).mean()


def feature_matching(real: list[Seen], made: list[Seen]) -> Tensor:
    """Mean distance of what the layers saw, relative to its size in recordings."""
    losses = [
        (r - m).abs().mean() / r.abs().mean().clamp(min=1e-4)
        for rs, ms in zip(real, made, strict=True)
        for r, m in zip(rs, ms, strict=True)
    ]
    return torch.stack(losses).mean()
