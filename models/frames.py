"""Adding overlapping frames back to one wave: the last step of every inverse transform here.

Frames are one hop (10 ms) apart, and frame t is centred on sample t·160.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.mel import HOP


def fold(frames: Tensor) -> Tensor:
    """Add frames (B, T, size) one hop apart: (B, (T - 1)·160 + size)."""
    B, T, size = frames.shape
    parts = -(-size // HOP)
    if parts * HOP > size:
        frames = F.pad(frames, (0, parts * HOP - size))
    frames = frames.view(B, T, parts, HOP)
    out = frames.new_zeros(B, T + parts - 1, HOP)
    for i in range(parts):
        out[:, i : i + T] += frames[:, :, i]
    return out.reshape(B, -1)[:, : (T - 1) * HOP + size]


def weight(window: Tensor, T: int) -> Tensor:
    """What a wave is too loud by after `joined` on frames that were tapered twice. (1, (T - 1)·160)"""
    envelope = joined(window.square().expand(1, T, len(window)))
    return envelope.clamp(min=1e-3)


def joined(frames: Tensor) -> Tensor:
    """Frames (B, T, size) -> the samples between the centres of the first and the last (B, (T - 1)·160)."""
    T, half = frames.shape[1], frames.shape[2] // 2
    return fold(frames)[:, half : half + (T - 1) * HOP]


def overlap_add(spectrum: Tensor, window: Tensor) -> Tensor:
    """Inverse STFT. (B, F, T) -> (B, T·160)"""
    spectrum = F.pad(
        spectrum, (0, 1)
    )  # (B, F, T + 1): a frame of silence lets the last 10 ms be reached
    frames = torch.fft.irfft(spectrum.transpose(1, 2), n=len(window)) * window  # (B, T + 1, size)
    return joined(frames) / weight(window, frames.shape[1])
