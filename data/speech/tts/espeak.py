"""espeak-ng through its shared library: many accents and throats, for hearing only.

Returns int16 at 16 kHz. Refuses an unknown voice and a missing library with one line each. It
cannot promise the same samples twice: the library keeps oscillator and flutter state between
calls, so the same words differ by a few samples in length (inaudible); flite's are exact.
"""

import ctypes
from functools import lru_cache

import numpy as np

from data.speech.augment import as_int16, resample
from models.errors import UserError

RATE = 16000  # Hz
_SYNCHRONOUS = 2  # AUDIO_OUTPUT_SYNCHRONOUS: samples arrive in the callback, before Synth returns
_UTF8 = 1
_RATE_PARAMETER, _PITCH_PARAMETER, _RANGE_PARAMETER = 1, 3, 4
_LIBC = ctypes.CDLL(None)
PACKAGE_HINT = "install Debian's speech engine: apt-get install espeak-ng"

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)
_chunks: list[np.ndarray] = []


@_CALLBACK
def _collect(samples, count, _events) -> int:
    if samples and count > 0:
        _chunks.append(np.ctypeslib.as_array(samples, (count,)).copy())
    return 0


@lru_cache(maxsize=1)
def _espeak() -> tuple[ctypes.CDLL, int]:
    """The library and its sample rate."""
    try:
        lib = ctypes.CDLL("libespeak-ng.so.1")
    except OSError as error:
        raise UserError(f"cannot load libespeak-ng.so.1: {PACKAGE_HINT}") from error
    rate = lib.espeak_Initialize(_SYNCHRONOUS, 0, None, 0)
    if rate <= 0:
        raise UserError(f"espeak-ng did not start: {PACKAGE_HINT} espeak-ng-data")
    lib.espeak_SetSynthCallback(_collect)
    return lib, rate


def available() -> bool:
    """Whether the library can be loaded."""
    try:
        _espeak()
    except UserError:
        return False
    return True


def synthesise(
    text: str, voice: str = "en-us", rate: int = 165, pitch: int = 50, spread: int = 50
) -> np.ndarray:
    """Speak `text` at `rate` words a minute; `pitch` and `spread` run from 0 to 99. (samples,)"""
    lib, native = _espeak()
    # Setting the voice anew each time resets what the last call left behind.
    if lib.espeak_SetVoiceByName(voice.encode()) != 0:
        raise UserError(f"espeak-ng has no voice {voice!r}")
    lib.espeak_SetParameter(_RATE_PARAMETER, rate, 0)
    lib.espeak_SetParameter(_PITCH_PARAMETER, pitch, 0)
    lib.espeak_SetParameter(_RANGE_PARAMETER, spread, 0)
    _chunks.clear()
    _LIBC.srand(1)  # breath and jitter come from rand()
    data = text.encode("utf-8") + b"\0"
    if lib.espeak_Synth(data, len(data), 0, 1, 0, _UTF8, None, None) != 0 or not _chunks:
        raise UserError(f"espeak-ng could not speak {text!r}")
    wave = np.concatenate(_chunks).astype(np.float32)
    out = resample(wave, RATE / native)  # (samples at 16 kHz,)
    return as_int16(out)
