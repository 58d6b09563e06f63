"""flite through its Debian shared libraries; a missing one is an error that names the package.

libc's `srand(1)` precedes every call: flite's excitation noise would otherwise differ between calls.
"""

import ctypes
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np

from models.errors import UserError

VOICES = ("rms", "slt", "awb", "kal16")  # all 16 kHz; kal (8 kHz) is left out on purpose
RATE = 16000  # Hz
_LIBC = ctypes.CDLL(None)
PACKAGE_HINT = "install Debian's speech engine: apt-get install flite libflite1"


class _Wave(ctypes.Structure):
    """cst_wave of flite 2.2."""

    _fields_ = [
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    ]


class _Voice(ctypes.Structure):
    """The head of cst_voice: only the two fields that we need."""

    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]


def _load(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise UserError(f"cannot load {name}: {PACKAGE_HINT}") from error


@lru_cache(maxsize=1)
def _flite() -> ctypes.CDLL:
    lib = _load("libflite.so.1")
    _load("libflite_usenglish.so.1")
    _load("libflite_cmulex.so.1")
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "flite_synth_text": (pointer, text, pointer),
        "utt_wave": (ctypes.POINTER(_Wave), pointer),
        "delete_utterance": (None, pointer),
        "feat_set_float": (None, pointer, text, ctypes.c_float),
        "feat_remove": (ctypes.c_int, pointer, text),
        "feat_present": (ctypes.c_int, pointer, text),
        "feat_float": (ctypes.c_float, pointer, text),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.flite_init()
    return lib


@cache
def _voice(name: str) -> int:
    if name not in VOICES:
        raise UserError(f"flite has no voice {name!r}; choose one of {', '.join(VOICES)}")
    _flite()
    register = getattr(_load(f"libflite_cmu_us_{name}.so.1"), f"register_cmu_us_{name}")
    register.restype, register.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    return register(None)


def available() -> bool:
    """Whether every flite voice that we use can be loaded."""
    try:
        return all(_voice(name) for name in VOICES)
    except UserError:
        return False


@contextmanager
def _features(lib: ctypes.CDLL, handle: int, wanted: dict[bytes, float]):
    """Set voice features for one call and put them back: no call may depend on an earlier one."""
    features = ctypes.cast(handle, ctypes.POINTER(_Voice)).contents.features
    before = {key: lib.feat_float(features, key) if lib.feat_present(features, key) else None
              for key in wanted}
    for key, value in wanted.items():
        lib.feat_set_float(features, key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                lib.feat_remove(features, key)
            else:
                lib.feat_set_float(features, key, value)


def synthesise(
    text: str, voice: str = "rms", stretch: float = 1.0, f0: float | None = None,
    f0_spread: float | None = None,
) -> np.ndarray:
    """Speak `text`: int16 (samples,) at 16 kHz.

    `stretch` > 1 is slower, `f0` and `f0_spread` are in Hz (None: the voice's).
    """
    lib, handle = _flite(), _voice(voice)
    wanted = {b"duration_stretch": stretch, b"int_f0_target_mean": f0,
              b"int_f0_target_stddev": f0_spread}
    with _features(lib, handle, {key: value for key, value in wanted.items() if value}):
        _LIBC.srand(1)
        utterance = lib.flite_synth_text(text.encode("utf-8"), handle)
    if not utterance:
        raise UserError(f"flite could not speak {text!r}")
    try:
        raw = lib.utt_wave(utterance).contents
        wave = np.ctypeslib.as_array(raw.samples, (raw.num_samples,)).copy()  # (samples,)
        if raw.sample_rate != RATE:
            raise UserError(f"flite voice {voice} speaks at {raw.sample_rate} Hz, not {RATE}")
    finally:
        lib.delete_utterance(utterance)
    return wave
