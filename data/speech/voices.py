"""Who speaks, and in which split: held-out voices are never heard in training.

A voice is a name "engine:voice" with a weight; nothing here makes sound (data/speech/speak.py does).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Voice:
    """engine is one of data/speech/tts; weight is relative within its list."""

    engine: str
    name: str
    weight: float
    f0: float = 0.0  # Hz, the voice's usual pitch where the engine lets us move it; 0: it does not

    @property
    def label(self) -> str:
        return f"{self.engine}:{self.name}"


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
# More variants of espeak-ng; left out: f4 and m7, which are held out, whispers, robots, jokes.
_MORE_VARIANTS = (
    "f3", "m2", "m4", "m6", "m8", "Alex", "Alicia", "Andrea", "Andy", "Diogo", "Gene", "Gene2",
    "Henrique", "Hugo", "Jacky", "Lee", "Marco", "Mario", "Michael", "Mike", "Nguyen", "anika",
    "antonio", "aunty", "belinda", "benjamin", "boris", "caleb", "david", "ed", "edward2", "grandma",
    "grandpa", "gustave", "iven", "iven2", "iven3", "iven4", "john", "klatt", "klatt3", "klatt4",
    "marcelo", "miguel", "norbert", "pablo", "paul", "pedro", "quincy", "rob", "robert", "sandro",
    "shelby", "steph2", "steph3", "travis", "victor", "zac",
)
_MORE_ESPEAK = tuple(
    Voice("espeak", f"{accent}+{variant}", 50 / (len(_ACCENTS) * len(_MORE_VARIANTS)))
    for accent in _ACCENTS
    for variant in _MORE_VARIANTS
)
_KOKORO = {  # a language and sex: names. All speak English here, some of them with an accent.
    "af": "alloy aoede bella heart jessica kore nicole nova river sarah sky",
    "am": "adam echo eric fenrir liam michael onyx puck santa",
    "bf": "alice emma isabella lily",
    "bm": "daniel fable george lewis",
    "ef": "dora", "em": "alex santa", "ff": "siwis", "hf": "alpha beta", "hm": "omega psi",
    "if": "sara", "im": "nicola", "jf": "alpha gongitsune nezumi tebukuro", "jm": "kumo",
    "pf": "dora", "pm": "alex santa", "zf": "xiaobei xiaoni xiaoxiao xiaoyi",
    "zm": "yunjian yunxi yunxia yunyang",
}
_KOKORO_VOICES = tuple(
    Voice("kokoro", f"{kind}_{name}", 2 if kind[0] in "ab" else 1)
    for kind, names in _KOKORO.items()
    for name in names.split()
)
# Of Kokoro's voices these are in no training set, of hearing nor of codec and vocoder.
KOKORO_HELD_OUT = {
    "dev": ("kokoro:af_nova", "kokoro:bm_daniel"),
    "test": ("kokoro:am_eric", "kokoro:bf_lily", "kokoro:jm_kumo", "kokoro:zf_xiaoni"),
}
KOKORO_TRAIN = tuple(
    voice.label
    for voice in _KOKORO_VOICES
    if not any(voice.label in held for held in KOKORO_HELD_OUT.values())
)
_HELD_OUT = {label for labels in KOKORO_HELD_OUT.values() for label in labels}
_HEART = Voice("hibari", "heart", 1)
# People who speak another language, and English with its accent (data/speech/tts/accents.py).
_ACCENTED = tuple(
    Voice("festival", name, weight, f0)
    for name, weight, f0 in (
        ("NSK_diphone", 3, 120), ("czech_ph", 2, 125), ("czech_dita", 2, 205), ("czech_krb", 2, 235),
        ("czech_machac", 2, 90), ("mv_diphone", 3, 95), ("lj_diphone", 2, 190), ("lp_diphone", 2, 180),
        ("pc_diphone", 2, 115),
    )
)
_M7 = Voice("espeak", "en+m7", 10)
_F4 = Voice("espeak", "en-us+f4", 10)

LISTS = {"train": "engines", "dev": "dev", "test": "test"}  # of a split, unless another is named
HEARING = {
    "engines": (*_FLITE, *_ESPEAK, _KAL),
    "variants": _MORE_ESPEAK,
    "kokoro": tuple(voice for voice in _KOKORO_VOICES if voice.label not in _HELD_OUT),
    "hibari": (_HEART,),
    "accents": _ACCENTED,
    "dev": (_SLT_HTS, _M7),
    "test": (_SLT_HTS, _KED, _M7, _F4),
}
