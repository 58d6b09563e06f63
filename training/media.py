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
