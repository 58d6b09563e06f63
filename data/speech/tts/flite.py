"""flite through its Debian shared libraries: waveform plus the alignment flite knows anyway.

Gives 16 kHz int16 speech with phone, word and stress times. It refuses to guess: a missing library
is an error that names the package, and an unknown phone is an error that names the phone. libc's
`srand(1)` precedes every call: flite's excitation noise would otherwise differ between calls.
"""

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from data.speech.phones import phone_token
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


@dataclass
class Speech:
    """What flite said: wave int16 (samples,), phones [phone, start, end, word or -1, stress]."""

    wave: np.ndarray
    phones: list[list]
    words: list[str]
    rate: int = RATE


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
        "utt_relation": (pointer, pointer, text),
        "relation_head": (pointer, pointer),
        "item_next": (pointer, pointer),
        "item_daughter": (pointer, pointer),
        "item_as": (pointer, pointer, text),
        "item_feat_string": (text, pointer, text),
        "item_feat_float": (ctypes.c_float, pointer, text),
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


def _children(lib: ctypes.CDLL, item: int | None):
    while item:
        yield item
        item = lib.item_next(item)


def _contents(item: int) -> int:
    """Items of different relations that stand for one thing share their contents pointer."""
    return ctypes.cast(item, ctypes.POINTER(ctypes.c_void_p))[0]


def _name(lib: ctypes.CDLL, item: int) -> str:
    return lib.item_feat_string(item, b"name").decode("utf-8", "replace")


def _words(lib: ctypes.CDLL, utterance: int) -> tuple[list[str], dict[int, int]]:
    """Spoken words; the parts of one written word ("dog" + "'s") count as one word."""
    words: list[str] = []
    index: dict[int, int] = {}  # contents of a Word item -> place in words
    for token in _children(lib, lib.relation_head(lib.utt_relation(utterance, b"Token"))):
        parts = list(_children(lib, lib.item_daughter(token)))
        written = _name(lib, token).lower().strip("'")
        if parts and "'" in written and written.replace("'", "").isalpha():
            index.update((_contents(part), len(words)) for part in parts)
            words.append(written)
            continue
        for part in parts:
            index[_contents(part)] = len(words)
            words.append(_name(lib, part))
    return words, index


def _segments(lib: ctypes.CDLL, utterance: int, index: dict[int, int]) -> dict[int, tuple]:
    """Contents of a Segment item -> (word, stress)."""
    where = {}
    for word in _children(lib, lib.relation_head(lib.utt_relation(utterance, b"SylStructure"))):
        for syllable in _children(lib, lib.item_daughter(word)):
            stress = int(lib.item_feat_string(syllable, b"stress") or b"0")
            for segment in _children(lib, lib.item_daughter(syllable)):
                where[_contents(segment)] = (index[_contents(word)], stress)
    return where


def _alignment(lib: ctypes.CDLL, utterance: int, duration: float) -> tuple[list[list], list[str]]:
    words, index = _words(lib, utterance)
    where = _segments(lib, utterance, index)
    phones, start = [], 0.0
    for segment in _children(lib, lib.relation_head(lib.utt_relation(utterance, b"Segment"))):
        end = min(round(lib.item_feat_float(segment, b"end"), 4), duration)
        word, stress = where.get(_contents(segment), (-1, 0))
        phones.append([phone_token(_name(lib, segment), stress), start, end, word, stress])
        start = end
    if phones:
        phones[-1][2] = duration  # flite rounds its last segment up to a whole frame
    return phones, words


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
) -> Speech:
    """Speak `text`; `stretch` > 1 is slower, `f0` and `f0_spread` are in Hz (None: the voice's)."""
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
        phones, words = _alignment(lib, utterance, len(wave) / RATE)
    finally:
        lib.delete_utterance(utterance)
    return Speech(wave, phones, words)
