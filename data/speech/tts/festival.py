"""festival through one persistent process per voice: for hearing only, two of its voices held out.

Returns int16 at 16 kHz. Refuses a missing program or voice with one line that names the package.
"""

import atexit
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import soundfile

from data.speech.augment import as_int16, resample
from data.speech.tts.accents import ACCENTS
from models.errors import UserError

RATE = 16000  # Hz
VOICES = {  # voice -> (its folder under /usr/share/festival/voices, Debian package)
    "cmu_us_slt_arctic_hts": ("us/cmu_us_slt_arctic_hts", "festvox-us-slt-hts"),
    "kal_diphone": ("english/kal_diphone", "festvox-kallpc16k"),
    "ked_diphone": ("english/ked_diphone", "festvox-kdlpc16k"),
}
FRONT = "kal_diphone"  # says how English goes for the voices of data/speech/tts/accents.py
_ROOT = Path("/usr/share/festival/voices")
_DONE = "muomni-done"


def parts(voice: str) -> dict[str, str]:
    """What a voice needs under festival's folder of voices -> Debian's package of it."""
    if voice in VOICES:
        return dict([VOICES[voice]])
    if voice in ACCENTS:
        return {ACCENTS[voice].group: ACCENTS[voice].package} | parts(FRONT)
    raise UserError(f"no festival voice {voice!r}; choose one of {', '.join((*VOICES, *ACCENTS))}")


def available(voice: str) -> bool:
    """Whether festival and this voice are installed."""
    return Path("/usr/bin/festival").exists() and all((_ROOT / part).exists() for part in parts(voice))


@cache
def _process(voice: str, owner: int) -> subprocess.Popen:
    """One festival that answers commands; `owner` is our process id: pipes survive no fork."""
    if not available(voice):
        packages = " ".join(parts(voice).values())
        raise UserError(f"voice {voice} is missing: apt-get install festival {packages}")
    process = subprocess.Popen(
        ["festival", "--pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )
    atexit.register(process.kill)
    accent = ACCENTS.get(voice)
    process.stdin.write(f"(voice_{FRONT if accent else voice})\n")
    if accent:
        process.stdin.write(accent.program(str(_ROOT)))
    return process


def _manner(stretch: float, f0: float | None) -> str:
    """Scheme that sets how slowly a diphone voice speaks and how high, in Hz."""
    lines = f"(Parameter.set 'Duration_Stretch {stretch:.3f})\n"
    if f0 is not None:
        spread = 0.14 * f0  # what the voices come with: 14 Hz around 105
        lines += (
            f"(set! int_lr_params '((target_f0_mean {f0:.1f}) (target_f0_std {spread:.1f}) "
            "(model_f0_mean 170) (model_f0_std 34)))\n"
        )
    return lines


def synthesise(
    text: str, voice: str, stretch: float = 1.0, f0: float | None = None
) -> np.ndarray:
    """Speak `text`, `stretch` times as long, at a pitch of `f0` Hz if given. (samples,)"""
    process = _process(voice, os.getpid())
    process.stdin.write(_manner(stretch, f0))
    plain = text.replace("\\", " ").replace('"', " ")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        process.stdin.write(
            f'(utt.save.wave (utt.synth (Utterance Text "{plain}")) "{path}" \'riff)\n'
            f'(format t "{_DONE}\\n") (fflush nil)\n'
        )
        process.stdin.flush()
        for line in process.stdout:
            if _DONE in line:
                break
        if not path.exists():
            raise UserError(f"festival could not speak {text!r} as {voice}")
        wave, rate = soundfile.read(path, dtype="int16")
    if rate != RATE:  # slt-hts speaks at 32 kHz
        wave = as_int16(resample(wave.astype(np.float32), RATE / rate))
    return wave
