"""Who speaks, and in which split: held-out voices are never heard in training.

A voice is a name "engine:voice" with a weight; nothing here makes sound (data/speech.py does).
"""

from dataclasses import dataclass

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Voice:
    """engine is "flite", "espeak" or "festival"; weight is relative within its list."""

    engine: str
    name: str
    weight: float
    f0: float = 0.0  # Hz, the voice's usual pitch where the engine lets us move it; 0: it does not

    @property
    def label(self) -> str:
        return f"{self.engine}:{self.name}"


# Speaking: rms is the clearest by pocketsphinx (docs/decisions.md), so most lessons are his.
SPEAKING = (Voice("flite", "rms", 60), Voice("flite", "slt", 25), Voice("flite", "awb", 15))

_FLITE = (
    Voice("flite", "rms", 20),
    Voice("flite", "slt", 18, f0=170),
    Voice("flite", "awb", 15, f0=125),
    Voice("flite", "kal16", 12, f0=100),
)
_ACCENTS = ("en-us", "en", "en-gb-scotland", "en-gb-x-rp", "en-029")
_VARIANTS = ("", "+m1", "+m3", "+m5", "+f1", "+f2", "+f5", "+klatt2", "+max", "+linda", "+steph",
             "+adam", "+michel", "+Annie", "+edward")
_ESPEAK = tuple(
    Voice("espeak", accent + variant, 35 / (len(_ACCENTS) * len(_VARIANTS)))
    for accent in _ACCENTS
    for variant in _VARIANTS
)
_SLT_HTS = Voice("festival", "cmu_us_slt_arctic_hts", 40)
_KED = Voice("festival", "ked_diphone", 40)
_KAL = Voice("festival", "kal_diphone", 100, f0=105)
_M7 = Voice("espeak", "en+m7", 10)
_F4 = Voice("espeak", "en-us+f4", 10)

HEARING = {
    "train": _FLITE + _ESPEAK,
    "further": (*_FLITE, *_ESPEAK, _KAL),  # more lessons, half of them by one more engine
    "dev": (_SLT_HTS, _M7),
    "test": (_SLT_HTS, _KED, _M7, _F4),
}
