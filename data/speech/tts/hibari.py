"""Hibari, a small neural engine of one American voice, through onnxruntime: for hearing only.

Returns int16 at 16 kHz. Its package brings the weights along (`pip install hibari-tts`, Apache-2.0;
8 MB, distilled from a voice of Kokoro's). A sentence takes a sixth of a second of one core, so many
can be had. Refuses a missing library with one line.
"""

from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from data.speech.augment import as_int16, resample
from models.errors import UserError

RATE, NATIVE_RATE = 16000, 24000  # Hz
VOICES = ("heart",)
PACKAGE_HINT = "pip install hibari-tts"


def available() -> bool:
    """Whether the library is here."""
    return find_spec("hibari") is not None


@lru_cache(maxsize=1)
def _engine():
    """The engine, on one core: whoever makes much speech does so in several processes."""
    try:
        from hibari import Hibari
    except ImportError as error:
        raise UserError(f"cannot load hibari: {PACKAGE_HINT}") from error
    return Hibari(threads=1)


def synthesise(text: str, voice: str, speed: float = 1.0) -> np.ndarray:
    """Speak `text`, `speed` times as fast as usual. (samples,)"""
    if voice not in VOICES:
        raise UserError(f"hibari has no voice {voice!r}")
    wave = _engine()(text, speed=speed)
    out = resample(np.asarray(wave, np.float32), RATE / NATIVE_RATE)  # (samples at 16 kHz,)
    return as_int16(out * 32767)
