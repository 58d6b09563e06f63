"""Rivals: the readings of a sound that the Thinker has to choose among, to learn choosing from.

Where a transcript is wanted, the ears' letters and the table of words say what may have been said
(models/readings.py), and the Thinker's logarithm is added to theirs (inference/spelling.py). A Thinker
that has only learnt to write the truth was never shown what it is to be told from. Here it is: of clips
of the training split, disturbed as ears are taught, the best readings with their scores and their errors.

Paper: Prabhavalkar et al., Minimum word error rate training for attention-based sequence-to-sequence
models, arXiv:1712.01818.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from data.shards import ShardReader, generate
from data.speech.asr_corpus import dequantise_mel
from data.speech.edit_distance import edit_distance
from models.audio import AudioEncoder
from models.errors import UserError
from models.letters import spoken_letters
from models.readings import READ, readings
from models.wordlm import WordLM
from training.media import disturb_mel

MARKS = ".,?!"
UNHEARD = "unheard.safetensors"  # the table of stage `words` that has not counted what the clips say
RIVALS = 6  # readings of a clip that are told apart
FIELDS = 3  # of each: how it is written, its score beside the Thinker's, words wrong
ERROR = 5.0  # an expected word error weighs as much as so many nats of a learnt token
BONUS = 0.5  # nats for each letter: as where transcripts are chosen


def written(truth: str, letters: str) -> str:
    """A reading with capitals and marks: the truth's where words agree, and at its beginning and end."""
    words = [word for word in truth.rstrip(MARKS).split() if spoken_letters(word)]
    said = letters.split()
    found = list(said)
    pairs = SequenceMatcher(None, [spoken_letters(word) for word in words], said, autojunk=False)
    for kind, i, j, k, m in pairs.get_opcodes():
        if kind == "equal":
            found[k:m] = words[i:j]
        elif kind == "replace" and j - i == m - k:  # a mark stays after another word
            found[k:m] = [word + mark_of(other) for word, other in zip(said[k:m], words[i:j], strict=True)]
    if found:
        found[0] = found[0][0].upper() + found[0][1:]
        found[-1] = found[-1].rstrip(MARKS) + mark_of(truth)
    return " ".join(found)


def mark_of(word: str) -> str:
    """The mark that a word ends with, or nothing."""
    return word[-1] if word[-1] in MARKS else ""


def expected_errors(said: Tensor, heard: Tensor, errors: Tensor) -> Tensor:
    """Word errors to be expected of a choice by both judges, beside those of a choice by lot.

    Args:
        said: (G, RIVALS) the Thinker's log-probabilities of whole readings.
        heard: (G, RIVALS) what else their scores consist of.
        errors: (G, RIVALS) words that are wrong.

    Returns:
        (G,)
    """
    chances = ((1 - READ) * said + heard).softmax(1)  # (G, RIVALS)
    return (chances * (errors - errors.mean(1, keepdim=True))).sum(1)


@lru_cache(maxsize=1)
def listener(ears: Path, words: Path) -> tuple[AudioEncoder, WordLM]:
    """The ears and the table, once a process."""
    torch.set_num_threads(1)
    return AudioEncoder.from_pretrained(ears).eval(), WordLM.load(words)


@lru_cache(maxsize=1)
def clips(folders: tuple[Path, ...], kinds: tuple[str, ...], seed: int) -> list[tuple[ShardReader, int]]:
    """All clips of several folders, or those of some kinds, in an order by lot."""
    readers = [ShardReader(folder) for folder in folders]
    places = [(reader, place) for reader in readers for place in range(len(reader))]
    if kinds:
        places = [(reader, place) for reader, place in places if reader.record(place)["kind"] in kinds]
    return [places[i] for i in np.random.default_rng(seed).permutation(len(places))]


@dataclass(frozen=True)
class RivalMaker:
    """Number `index` of the clips that are heard for it, in an order by lot."""

    ears: Path  # the folder that stage `audio` leaves
    words: Path  # the table that stage `words` leaves
    folders: tuple[Path, ...]  # of shards
    noisy: float  # share of clips that noise is added to
    seed: int
    kinds: tuple[str, ...] = ()  # of clips; none: all of them

    @torch.inference_mode()
    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        """The clip as it was heard, with (reading, score beside the Thinker's, errors) of each rival."""
        places = clips(self.folders, self.kinds, self.seed)
        rng = np.random.default_rng([self.seed, index])
        reader, place = places[index % len(places)]
        record = reader[place]
        mel = disturb_mel(record["mel"], rng, self.noisy)  # (128, T)
        ears, wording = listener(self.ears, self.words)
        sound = torch.as_tensor(dequantise_mel(mel))
        log_probs = ears.letters(ears(sound[None], torch.tensor([sound.shape[1]])))[0]  # (S, labels)
        true = spoken_letters(record["text"]).split()
        rivals = [
            (
                written(record["text"], one.letters),
                READ * one.score + BONUS * len(one.letters),
                edit_distance(true, one.letters.split()),
            )
            for one in readings(log_probs, wording)[:RIVALS]
        ]
        kept = ("text", "kind", "question", "scene", "voice", "seconds")
        return {name: record[name] for name in kept if name in record} | {"rivals": rivals}, {"mel": mel}


def build_rivals(folder: Path, make: RivalMaker, count: int, workers: int) -> None:
    """Fill `folder` with shards of rivals; it takes a fifth of a second a clip."""
    generate(folder, make, count, 100, workers, "rivals")


def read_rivals(folder: Path) -> ShardReader:
    """Clips with their rivals.

    Raises:
        UserError: they were made when more was said of each rival.
    """
    reader = ShardReader(folder)
    if any(len(rival) != FIELDS for rival in reader.record(0)["rivals"]):
        raise UserError(f"{folder} is of an older version: remove it, and it is made anew")
    return reader


def worth(record: dict) -> bool:
    """Whether there is anything to choose: enough rivals, and not all as wrong."""
    errors = [wrong for _, _, wrong in record["rivals"]]
    return len(errors) == RIVALS and len(set(errors)) > 1
