"""Adding overlapping frames back to one wave: the last step of every inverse transform here.

Frames are one hop (10 ms) apart and a whole, even number of hops long; frame t is centred on
sample t·160.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.mel import HOP


def joined(frames: Tensor) -> Tensor:
    """Add frames (B, T, size): the samples from the first centre to the last (B, (T - 1)·160)."""
    T = frames.shape[1]
    parts = frames.unflatten(2, (-1, HOP))  # (B, T, size / 160, 160)
    half = parts.shape[2] // 2
    # Hop h lies between the centres of frames h and h + 1, which both reach it.
    out = parts[:, :-1, half] + parts[:, 1:, half - 1]  # (B, T - 1, 160)
    for away in range(1, half):  # frames further to the left, and to the right
        out[:, away:] += parts[:, : max(T - 1 - away, 0), half + away]
        out[:, : max(T - 1 - away, 0)] += parts[:, 1 + away :, half - 1 - away]
    return out.flatten(1)


def weight(window: Tensor, T: int) -> Tensor:
    """What T frames that were tapered twice add up to (1, (T - 1)·160), never too near to zero."""
    most = min(T, len(window) // HOP + 1)  # of more frames, only the hops at the ends differ
    hops = joined(window.square().expand(1, most, len(window))).view(-1, HOP)  # (most - 1, 160)
    middle = len(hops) // 2
    alike = hops[middle : middle + 1].expand(T - most, HOP)
    return torch.cat([hops[:middle], alike, hops[middle:]]).view(1, -1).clamp(min=1e-3)


def overlap_add(spectrum: Tensor, window: Tensor) -> Tensor:
    """Inverse STFT. (B, F, T) -> (B, T·160)"""
    # One more frame, of silence, lets the last 10 ms be reached.
    spectrum = F.pad(spectrum.transpose(1, 2), (0, 0, 0, 1))  # (B, T + 1, F)
    frames = torch.fft.irfft(spectrum, n=len(window)) * window  # (B, T + 1, size)
    return joined(frames) / weight(window, frames.shape[1])
