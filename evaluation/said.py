"""Sentences to speak for evaluation, and who says them besides the Talker: teachers and people.

Sentences are ordinary English of the test split; no two voices share any. Teachers' speech is made
once and kept in the data folder. The unseen voices are in no training set: four of Kokoro's, and
the test speakers of the recordings.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.readers.speech import RATE
from data.shards import ShardReader, generate
from data.speech import sentences as corpus
from data.speech.asr_recorded import recordings
from data.speech.augment import as_int16
from data.speech.teachers import SHIPPED
from data.speech.tts import aligned
from data.speech.voices import KOKORO_HELD_OUT
from evaluation.setting import SEED, Setting
from evaluation.words import spoken_words

SENTENCES = 200  # of each voice of the Talker
TEACHERS, UNSEEN, PEOPLE = 50, 15, 60  # sentences of a teacher, of an unseen voice, recordings
LENGTHS = range(4, 15)  # words of a sentence
SHARD = 25  # sentences in a file
SHORTEST = 2.0  # seconds of a recording: of less, opinions mean little
UNSEEN_VOICES = KOKORO_HELD_OUT["test"]


@dataclass
class Said:
    """One sentence as somebody said it: wave float32 (samples,) at 16 kHz."""

    text: str
    wave: np.ndarray


@dataclass(frozen=True)
class Sayer:
    """Sentence number `index` by a teacher; a record and its wave, for data.shards."""

    label: str  # "engine:voice"
    texts: tuple[str, ...]

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        text = self.texts[index]
        return {"text": text}, {"wave": aligned.say(text, *self.label.split(":"))}


def texts(setting: Setting) -> dict[str, list[str]]:
    """Voice label of a teacher or of an unseen voice -> its own sentences, the first voices first."""
    real = str(setting.real_dir) if setting.real_dir else None
    pool = [t for t in corpus.ordinary("test", real) if len(spoken_words(t)) in LENGTHS]
    random.Random(f"said-{SEED}").shuffle(pool)
    labels = (*SHIPPED, *UNSEEN_VOICES)
    share = min(SENTENCES, len(pool) // len(labels))
    return {label: pool[n * share : (n + 1) * share] for n, label in enumerate(labels)}


def said_by(setting: Setting, label: str, count: int) -> list[Said]:
    """The first sentences of a voice, as its teacher says them."""
    own = tuple(texts(setting)[label])
    count = min(count, len(own))
    folder = setting.data_dir / f"said_{label.replace(':', '_')}"
    generate(folder, Sayer(label, own), count, SHARD, setting.workers, f"{label} speaks")
    reader = ShardReader(folder)
    items = [reader[n] for n in range(count)]
    return [Said(item["text"], as_float(item["wave"])) for item in items]


def teachers(setting: Setting) -> dict[str, list[Said]]:
    """Voice of the Talker -> its teacher's sentences."""
    count = setting.count(TEACHERS)
    return {name_of(label): said_by(setting, label, count) for label in SHIPPED}


def unseen(setting: Setting) -> list[Said]:
    """Voices of Kokoro that codec and vocoder never heard."""
    count = setting.count(UNSEEN)
    return [said for label in UNSEEN_VOICES for said in said_by(setting, label, count)]


def people(setting: Setting) -> list[Said]:
    """Recordings of speakers that codec and vocoder never heard; none without the real data."""
    if setting.real_dir is None:
        return []
    found = recordings(Path(setting.real_dir), "test")
    long = [r for r in found if len(r.wave) >= SHORTEST * RATE]
    random.Random(f"people-{SEED}").shuffle(long)
    return [Said(r.text, as_float(as_int16(r.wave * 32767))) for r in long[: setting.count(PEOPLE)]]


def name_of(label: str) -> str:
    """kokoro:bf_emma -> emma, the Talker's name of it."""
    return label.rsplit(":", 1)[1].split("_")[-1]


def as_float(wave: np.ndarray) -> np.ndarray:
    """int16 (samples,) -> float32 in [-1, 1)."""
    return wave.astype(np.float32) / 32768
