"""Media out of shards: pictures as the eyes want them, mels as the ears want them.

Shared by the stages that see or hear; it opens shards, it does not build them.
"""

import io
from functools import lru_cache

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from data.speech.asr_corpus import MEL_STEPS, dequantise_mel, mel_of
from data.speech.augment import coloured_noise
from models.mel import SILENCE
from models.vision import image_to_tensor

MEL_BUCKET = 32  # mel frames: batches are padded to multiples, so that few shapes occur
TIME_MASK = 12  # mel frames, the longest SpecAugment time mask
MASK_EVERY = 80  # mel frames; at least two masks a clip
BAND_MASK = 16  # mel bins, the widest SpecAugment band mask
COLOUR = 0.4  # nats: how strong each wave of a coloured spectrum is
NOISES = 64
NOISE_SAMPLES = 128_000  # 8 s
BEAT = 0.7  # of what phases do to a single frequency; ears then suffer as from noise in the wave
SNR = (2.0, 20.0)  # dB, of mean powers in the mel: of pink noise 2 less than in the wave
WARP = 0.12  # how far a throat may be shorter or longer than the speaker's own
PARTS, BEND = 4, 0.1  # of the mel axis, and how far each may be so besides
SOUND, SWAY = 15, 0.08  # mel frames that a sound takes, and how far each part may be so for one sound


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


def between(levels: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Levels (128, T) read at places between theirs along an axis, which `at` holds: (128 or 1, any)."""
    low = at.astype(int)
    high = np.minimum(low + 1, levels.shape[axis] - 1)
    share = (at - low).astype(np.float32)
    below, above = (np.take_along_axis(levels, place, axis) for place in (low, high))
    return np.round(below * (1 - share) + above * share).astype(levels.dtype)


def warp_mel(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Three times in four, another throat: the mel axis stretched, by up to WARP as a whole, by up to
    BEND in each of PARTS of it, and by up to SWAY as sounds follow each other. (128, T)

    Vocal tract length perturbation (Jaitly and Hinton 2013), on mel bins rather than Hz: a voice
    whose formants lie elsewhere, each of them by as much as it likes and not the same for every sound,
    in every epoch another one.
    """
    if rng.random() < 0.25:
        return levels
    bins, frames = levels.shape
    slopes = rng.uniform(1 - BEND, 1 + BEND, PARTS) * rng.uniform(1 - WARP, 1 + WARP)
    sounds = rng.uniform(1 - SWAY, 1 + SWAY, (PARTS, frames // SOUND + 3))
    when = np.arange(frames) / SOUND + rng.random()  # (T,) which sound it is
    sways = np.stack([np.interp(when, np.arange(len(row)), row) for row in sounds])  # (PARTS, T)
    slopes = np.repeat(slopes[:, None] * sways, bins // PARTS, axis=0)  # (128, T)
    at = np.minimum(slopes.cumsum(0) - slopes[0], bins - 1)  # (128, T) where each bin is read
    return between(levels, at, 0)


def hurry_mel(levels: np.ndarray, rate: float) -> np.ndarray:
    """The same said `rate` times as fast: frames between frames. (128, T) -> (128, about T / rate)

    A phase vocoder's tempo, done to the mel: pitch and formants stay, as they do not when a wave is
    played faster (Ko et al. 2015, "Audio augmentation for speech recognition").
    """
    if rate == 1.0:
        return levels
    frames = levels.shape[1]
    at = np.minimum(np.arange(int(frames / rate)) * rate, frames - 1)  # (T / rate,) where each is read
    return between(levels, at[None], 1)


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


def powers(levels: np.ndarray) -> np.ndarray:
    """Quantised mels -> float32 powers of the same shape, of an arbitrary unit."""
    return np.exp(2 * levels.astype(np.float32) / MEL_STEPS)


@lru_cache(maxsize=1)
def noises() -> np.ndarray:
    """Powers of NOISES steady noises, white to brown, of mean 1. (NOISES, 128, 800)

    Real ones: their blobs last for several frames, as windows overlap, and are strongest where a mel
    bin is narrow. Noise drawn for each bin by itself had cost ears half as much as real noise.
    """
    rng = np.random.default_rng(0)
    waves = (coloured_noise(NOISE_SAMPLES, slope, rng) for slope in np.linspace(0, 2, NOISES))
    return np.stack([power / power.mean() for power in (powers(mel_of(0.1 * wave)) for wave in waves)])


def noisy_mel(levels: np.ndarray, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
    """A `share` of the time, steady noise, added to the powers of the mel. (128, T)

    Where both are as loud they also beat: sound and noise add up or cancel as their phases have it.
    """
    if rng.random() >= share:
        return levels
    power = powers(levels)  # (128, T)
    noise = noises()[rng.integers(NOISES)]
    places = (rng.integers(noise.shape[1]) + np.arange(levels.shape[1])) % noise.shape[1]
    noise = noise[:, places] * (power.mean() * 10 ** (-rng.uniform(*SNR) / 10))  # (128, T)
    phases = rng.random(power.shape, np.float32) * (2 * np.pi)
    mixed = power + noise + 2 * BEAT * np.cos(phases) * np.sqrt(power * noise)
    return np.clip(np.round(np.log(mixed) * (MEL_STEPS / 2)), 0, 255).astype(levels.dtype)


def disturb_mel(levels: np.ndarray, rng: np.random.Generator, noisy: float) -> np.ndarray:
    """Another throat, another microphone, and noise a share `noisy` of the time. (128, T)"""
    return noisy_mel(colour_mel(warp_mel(levels, rng), rng), rng, noisy)


def mask_mel(levels: np.ndarray, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
    """SpecAugment (arXiv:1904.08779), a `share` of the time: silence two bands, and a stretch of time
    for each MASK_EVERY frames. (128, T)
    """
    if rng.random() >= share:
        return levels
    levels = levels.copy()
    bins, frames = levels.shape
    for _ in range(max(2, frames // MASK_EVERY)):
        width = int(rng.integers(0, TIME_MASK + 1))
        start = int(rng.integers(0, max(1, frames - width)))
        levels[:, start : start + width] = 0
    for _ in range(2):
        band = int(rng.integers(0, BAND_MASK + 1))
        low = int(rng.integers(0, bins - band))
        levels[low : low + band] = 0
    return levels
