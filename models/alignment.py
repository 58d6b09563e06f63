"""Which phones each frame of speech overlaps, out of their durations: nothing here is learnt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

PLACES = 6  # numbers that say where in its phone a frame lies


@dataclass
class Alignment:
    """Which phones each frame overlaps."""

    share: Tensor  # (B, T, P) part of the frame that lies in the phone; rows add up to 1
    place: Tensor  # (B, T, 6) where in its phone the middle of the frame lies
    frames: Tensor  # (B,) how many frames each row has


def count_frames(seconds: Tensor, frame: float) -> Tensor:
    """How many frames durations (B, P) add up to: (B,)"""
    return (seconds.cumsum(1)[:, -1] / frame).round().long().clamp(min=1)


def align(seconds: Tensor, frame: float, frames: Tensor | None = None) -> Alignment:
    """Durations (B, P), 0 on padding -> alignment at `frame` seconds a frame.

    Args:
        frames: (B,) frames of each row when they are known; else what the durations add up to.
    """
    ends = seconds.cumsum(1)  # (B, P)
    starts = ends - seconds
    if frames is None:
        frames = count_frames(seconds, frame)
    T = int(frames.max())
    left = torch.arange(T, device=seconds.device) * frame  # (T,)
    low = torch.maximum(left[None, :, None], starts[:, None])  # (B, T, P)
    high = torch.minimum(left[None, :, None] + frame, ends[:, None])
    share = (high - low).clamp(min=0) / frame  # (B, T, P)
    middle = torch.minimum(left[None] + frame / 2, ends[:, -1:] - 1e-4)  # (B, T)
    inside = (middle[..., None] >= starts[:, None]) & (middle[..., None] < ends[:, None])
    at = inside.float().argmax(-1)  # (B, T) the phone in the middle of the frame
    # Rounding can leave the last frame without any phone: it then belongs to the last one.
    total = share.sum(-1, keepdim=True)
    alone = F.one_hot(at, seconds.shape[1]).to(share.dtype)
    share = torch.where(total > 0.05, share / total.clamp(min=0.05), alone)
    since = (middle - starts.gather(1, at)) / frame  # (B, T) in frames
    until = (ends.gather(1, at) - middle) / frame
    length = (since + until).clamp(min=1e-3)
    place = torch.stack(
        [since / length, until / length, since.clamp(0, 4) / 4, until.clamp(0, 4) / 4,
         torch.log(length).clamp(-3, 3), (length > 4).float()], -1,
    )  # (B, T, 6)
    return Alignment(share, place, frames)
