"""Speech to learn speaking from, in sets: natural teachers with phone times, and voices of any kind.

`heart` and `kokoro` hold the voices that ship; their records are those of data/speech/teachers.py.
`voices` (Kokoro's others), `engines` (flite, espeak-ng, festival) and `recorded` (people) are for
codec and vocoder alone: a record says whose voice it is, the blob "wave" is int16 at 16 kHz.
Some voices of Kokoro and whole recorded speakers are in no training set.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from data.readers.speech import RATE, Recording
from data.shards import generate
from data.speech import samples, sentences
from data.speech.asr_recorded import recordings
from data.speech.augment import as_int16
from data.speech.speak import speak
from data.speech.teachers import SHIPPED, build_teachers
from data.speech.voices import HEARING, KOKORO_HELD_OUT, KOKORO_TRAIN
from data.speech.word_samples import SPEAKER
from models.errors import UserError

Item = tuple[dict, dict[str, np.ndarray]]
SHARD = 100  # utterances in a file
SHORTEST = 1.5  # seconds of a recording: a codec learns little from one word


def build_set(
    name: str, folder: str | Path, count: int, seed: int = 0, split: str = "train",
    workers: int = 1, real: str | None = None,
) -> None:
    """Fill `folder` with `count` utterances of a set; complete shards are kept.

    Args:
        real: folder of the manifest's texts and recordings.
    """
    if name not in SETS:
        raise UserError(f"unknown set of speech {name!r}: choose among {', '.join(SETS)}")
    SETS[name](Path(folder), count, seed, split, workers, real)


def _teachers(voices: Callable[[str], tuple[str, ...]], vary: bool = False) -> Callable[..., None]:
    def build(folder, count, seed, split, workers, real) -> None:
        build_teachers(folder, count, seed, split, voices(split), workers, text_folder=real,
                       vary=vary and split == "train", shard_size=SHARD)

    return build


def _engines(folder, count, seed, split, workers, real) -> None:
    generate(folder, EngineMaker(seed, split, real), count, SHARD, workers, f"engines {split}")


def _recorded(folder, count, seed, split, workers, real) -> None:
    if real is None:
        raise UserError("recorded speech lies in the manifest's folder: give --real_dir, or --set "
                        "'data.speech={heart: …, engines: …}' and data.shares without recorded")
    if not long_recordings(real, split, seed):
        raise UserError(f"no {split} recordings under {real}")
    generate(folder, RecordedMaker(seed, split, real), count, SHARD, 1, f"recorded {split}")


def _samples(folder, count, seed, split, workers, real) -> None:
    generate(folder, SampleMaker(split), count, SHARD, workers, f"samples {split}")


def _words(folder, count, seed, split, workers, real) -> None:
    generate(folder, SampleMaker("train", "words", SPEAKER), count, SHARD, workers, f"words {split}")


@lru_cache(maxsize=1)
def long_recordings(real: str, split: str, seed: int) -> list[Recording]:
    """A split's recordings in an order of their own, without those a codec learns little from."""
    found = [r for r in recordings(Path(real), split) if len(r.wave) >= SHORTEST * RATE]
    random.Random(seed).shuffle(found)
    return found


@dataclass(frozen=True)
class RecordedMaker:
    """Recording number `index`, from the first again after the last."""

    seed: int
    split: str
    folder: str

    def __call__(self, index: int) -> Item:
        found = long_recordings(self.folder, self.split, self.seed)
        taken = found[index % len(found)]
        record = {"text": taken.text, "voice": f"{taken.corpus}:{taken.speaker}"}
        return record, {"wave": as_int16(taken.wave * 32767)}


@dataclass(frozen=True)
class EngineMaker:
    """Utterance number `index` by a speech engine whose rate and pitch vary."""

    seed: int
    split: str
    folder: str | None

    def __call__(self, index: int) -> Item:
        rng = random.Random(f"engines-{self.seed}-{self.split}-{index}")
        voices = HEARING["engines" if self.split == "train" else self.split]
        voice = rng.choices(voices, [v.weight for v in voices])[0]
        text = rng.choice(sentences.ordinary(self.split, self.folder))
        return {"text": text, "voice": voice.label}, {"wave": as_int16(speak(text, voice, rng) * 32767)}


@dataclass(frozen=True)
class SampleMaker:
    """Shipped utterances, over again: for tests and the nano preset, with no engine."""

    split: str
    name: str = "speech"  # folder of data/samples
    voice: str = ""  # whose alone; all where it is empty

    def __call__(self, index: int) -> Item:
        chosen = [r for r in samples.samples(self.split, self.name) if self.voice in ("", r["voice"])]
        record = dict(chosen[index % len(chosen)])
        return record, {"wave": record.pop("wave")}


SETS = {
    "heart": _teachers(lambda split: SHIPPED[:1]),
    "kokoro": _teachers(lambda split: SHIPPED[1:]),
    "voices": _teachers(lambda split: KOKORO_HELD_OUT.get(split, KOKORO_TRAIN), vary=True),
    "engines": _engines,
    "recorded": _recorded,
    "samples": _samples,
    "words": _words,
}
SHIPPED_SETS = {"samples", "words"}  # need no engine, and the shipped lexicon is theirs
