"""Augmentation of log-mels: vocal tract length, tempo, microphone, noise, SpecAugment.

Mels are quantised (data/speech/asr_corpus.py), uint8 (128, T); each function gives the same kind back.
"""

from functools import lru_cache

import numpy as np

from data.speech.asr_corpus import MEL_STEPS, mel_of
from data.speech.augment import coloured_noise

TIME_MASK = 12  # mel frames, the longest SpecAugment time mask
MASK_EVERY = 80  # mel frames; at least two masks a clip
BAND_MASK = 16  # mel bins, the widest SpecAugment band mask
COLOUR = 0.4  # nats: how strong each wave of a coloured spectrum is
NOISES = 64
NOISE_SAMPLES = 128_000  # 8 s
BEAT = 0.7  # of what phases do to a single frequency; word errors are then those of noise in the wave
SNR = (2.0, 20.0)  # dB, of mean powers in the mel: of pink noise 2 less than in the wave
WARP = 0.12  # how far a vocal tract may be shorter or longer than the speaker's own
PARTS, BEND = 4, 0.1  # of the mel axis, and how far each may be so besides
SOUND, SWAY = 15, 0.08  # mel frames that a sound takes, and how far each part may be so for one sound


def between(levels: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Levels (128, T) read at places between theirs along an axis, which `at` holds: (128 or 1, any)."""
    low = at.astype(int)
    high = np.minimum(low + 1, levels.shape[axis] - 1)
    share = (at - low).astype(np.float32)
    below, above = (np.take_along_axis(levels, place, axis) for place in (low, high))
    return np.round(below * (1 - share) + above * share).astype(levels.dtype)


def perturb_vocal_tract(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Vocal tract length perturbation (Jaitly and Hinton 2013), three times in four. (128, T)

    The mel axis is stretched by up to WARP as a whole, by up to BEND in each of PARTS of it, and by up
    to SWAY from sound to sound. That is a voice with other formants, another one in every epoch.
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


def change_tempo(levels: np.ndarray, rate: float) -> np.ndarray:
    """Tempo augmentation by interpolated frames. (128, T) -> (128, about T / rate)

    Pitch and formants stay, unlike in speed perturbation (Ko et al. 2015, "Audio augmentation for
    speech recognition").
    """
    if rate == 1.0:
        return levels
    frames = levels.shape[1]
    at = np.minimum(np.arange(int(frames / rate)) * rate, frames - 1)  # (T / rate,) where each is read
    return between(levels, at[None], 1)


def change_microphone(levels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the time, another microphone: bands louder and softer. (128, T)

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
    bin is narrow. Noise drawn for each bin by itself raised word errors half as much.
    """
    rng = np.random.default_rng(0)
    waves = (coloured_noise(NOISE_SAMPLES, slope, rng) for slope in np.linspace(0, 2, NOISES))
    return np.stack([power / power.mean() for power in (powers(mel_of(0.1 * wave)) for wave in waves)])


def add_noise(levels: np.ndarray, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
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


def augment_mel(levels: np.ndarray, rng: np.random.Generator, noisy: float) -> np.ndarray:
    """Another vocal tract, another microphone, and noise a share `noisy` of the time. (128, T)"""
    return add_noise(change_microphone(perturb_vocal_tract(levels, rng), rng), rng, noisy)


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
