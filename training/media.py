"""Media out of shards: pictures as the eyes want them, mels as the ears want them.

Shared by the stages that see or hear; it opens shards, it does not build them.
"""

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from data.hearing import MEL_STEPS, dequantise_mel
from models.mel import SILENCE
from models.vision import image_to_tensor

MEL_BUCKET = 32  # mel frames: batches are padded to multiples, so that few shapes occur
TIME_MASK = 12  # mel frames, the longest SpecAugment time mask
BAND_MASK = 16  # mel bins, the widest SpecAugment band mask
COLOUR = 0.4  # nats: how strong each wave of a coloured spectrum is
NOISE_TILT = 2.0  # nats of power: brown noise falls so much, white noise rises so much
NOISE_GRAIN = 2.0  # the gamma's shape, as measured on coloured noise
SNR = (3.0, 20.0)  # dB
WARP = 0.12  # how far a throat may be shorter or longer than the speaker's own
PARTS, BEND = 4, 0.1  # of the mel axis, and how far each may be so besides


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
    """Three times in four, another throat: the mel axis stretched, by up to WARP as a whole and by up
    to BEND in each of PARTS of it. (128, T)

    Vocal tract length perturbation (Jaitly and Hinton 2013), on mel bins rather than Hz: a voice
    whose formants lie elsewhere, each of them by as much as it likes, in every epoch another one.
    """
    if rng.random() < 0.25:
        return levels
    bins = len(levels)
    slopes = rng.uniform(1 - BEND, 1 + BEND, PARTS) * rng.uniform(1 - WARP, 1 + WARP)
    at = np.cumsum(np.repeat(slopes, bins // PARTS)) - slopes[0]  # (128,) where each bin is read
    at = np.minimum(at, bins - 1)
    low = at.astype(int)
    high = np.minimum(low + 1, bins - 1)
    share = (at - low)[:, None].astype(np.float32)  # (128, 1)
    warped = levels[low] * (1 - share) + levels[high] * share  # (128, T)
    return np.round(warped).astype(levels.dtype)


def colour_mel(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the time, another microphone or throat: bands louder and softer. (128, T)

    A sum of three slow waves over the mel axis, as far as ±2 COLOUR; silence stays silent.
    """
    if rng.random() < 0.5:
        return levels
    bins = len(levels)
    at = np.arange(bins)[:, None] / bins  # (128, 1)
    waves = np.arange(1, 4) * np.pi * at + rng.uniform(0, 2 * np.pi, 3)  # (128, 3)
    gain = np.sin(waves) @ rng.normal(0, COLOUR, 3)  # (128,) nats
    coloured = levels + MEL_STEPS * gain[:, None]
    return np.where(levels > 1, np.clip(np.round(coloured), 1, 255), levels).astype(levels.dtype)


def noisy_mel(levels: np.ndarray, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
    """A `share` of the time, steady noise, added to the powers of the mel. (128, T)

    Its spectrum rises or falls over the mel axis by as much as NOISE_TILT; each band and frame has a
    level by chance, as the power of real noise in a filter has (a gamma variable).
    """
    if rng.random() >= share:
        return levels
    power = np.exp(2 * levels.astype(np.float32) / MEL_STEPS)  # (128, T), of an arbitrary unit
    tilt = rng.uniform(-NOISE_TILT, NOISE_TILT) * np.linspace(-1, 1, len(levels))  # (128,) nats
    shape = np.exp(tilt) / np.exp(tilt).mean()  # (128,) of mean 1
    level = power.mean() * 10 ** (-rng.uniform(*SNR) / 10)
    grain = rng.gamma(NOISE_GRAIN, 1 / NOISE_GRAIN, power.shape).astype(np.float32)  # (128, T)
    mixed = np.log(power + level * shape[:, None] * grain) * MEL_STEPS / 2
    return np.clip(np.round(mixed), 0, 255).astype(levels.dtype)


def mask_mel(levels: np.ndarray, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
    """SpecAugment (arXiv:1904.08779), a `share` of the time: silence two stretches of time and two
    bands. (128, T)
    """
    if rng.random() >= share:
        return levels
    levels = levels.copy()
    bins, frames = levels.shape
    for _ in range(2):
        width, band = int(rng.integers(0, TIME_MASK + 1)), int(rng.integers(0, BAND_MASK + 1))
        start = int(rng.integers(0, max(1, frames - width)))
        low = int(rng.integers(0, bins - band))
        levels[:, start : start + width] = 0
        levels[low : low + band] = 0
    return levels
