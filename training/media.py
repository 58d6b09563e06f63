"""Images and mels out of shards, as the encoders read them.

Shared by the stages with media.
"""

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from data.speech.asr_corpus import dequantise_mel
from models.image import image_to_tensor
from models.mel import SILENCE

MEL_BUCKET = 32  # mel frames: batches are padded to multiples, so that few shapes occur


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
