"""Media out of shards: pictures as the eyes want them, mels as the ears want them.

Shared by the stages that see or hear; it opens shards, it does not build them.
"""

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from data.hearing import dequantise_mel
from models.mel import SILENCE
from models.vision import image_to_tensor

MEL_BUCKET = 160  # mel frames: batches are padded to multiples, so that few shapes occur
TIME_MASK = 12  # mel frames, the longest SpecAugment time mask
BAND_MASK = 16  # mel bins, the widest SpecAugment band mask
WARP = 0.12  # how far a throat may be shorter or longer than the speaker's own


def picture(encoded: bytes) -> Tensor:
    """An encoded image file -> uint8 (3, 224, 224)."""
    return image_to_tensor(Image.open(io.BytesIO(encoded)))


def padded_mels(levels: list[np.ndarray]) -> tuple[Tensor, Tensor]:
    """Quantised mels of any length -> float (B, 128, T) and their lengths (B,) in frames."""
    longest = max(level.shape[1] for level in levels)
    T = -(-longest // MEL_BUCKET) * MEL_BUCKET
    mels = torch.full((len(levels), levels[0].shape[0], T), SILENCE)  # (B, 128, T)
    for row, level in zip(mels, levels, strict=True):
        row[:, : level.shape[1]] = dequantise_mel(level)
    return mels, torch.tensor([level.shape[1] for level in levels])


def warp_mel(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the time, another throat: the mel axis stretched by up to WARP. (128, T)

    Vocal tract length perturbation (Jaitly and Hinton 2013), on mel bins rather than Hz: a voice
    whose formants lie elsewhere, in every epoch another one.
    """
    if rng.random() < 0.5:
        return levels
    bins = len(levels)
    at = np.arange(bins) * rng.uniform(1 - WARP, 1 + WARP)  # (128,) where each bin is read
    low = np.minimum(at.astype(int), bins - 1)
    high = np.minimum(low + 1, bins - 1)
    share = (at - np.floor(at))[:, None].astype(np.float32)  # (128, 1)
    warped = levels[low] * (1 - share) + levels[high] * share  # (128, T)
    return np.round(warped).astype(levels.dtype)


def mask_mel(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """SpecAugment (arXiv:1904.08779): silence two stretches of time and two bands. (128, T)"""
    levels = levels.copy()
    bins, frames = levels.shape
    for _ in range(2):
        width, band = int(rng.integers(0, TIME_MASK + 1)), int(rng.integers(0, BAND_MASK + 1))
        start = int(rng.integers(0, max(1, frames - width)))
        low = int(rng.integers(0, bins - band))
        levels[:, start : start + width] = 0
        levels[low : low + band] = 0
    return levels
