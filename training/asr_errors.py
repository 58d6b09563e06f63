"""ASR-error augmentation: training clips with the transcript that the recogniser gives them.

A spoken question is answered as it was transcribed, rightly or not. So that a question with errors
is still answered, part of the spoken samples hold what CTC and an n-gram model that never counted them
give. The wrong transcript itself is not trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from data.shards import ShardReader, generate
from data.speech.asr_corpus import dequantise_mel
from models.audio import AudioEncoder
from models.ctc import prefix_beam_search, to_alphabet
from models.ngram_lm import NgramLM
from training.augmentation import augment_mel
from training.ngram_lm import UNSEEN

MARKS = ".,?!"
KEPT = ("text", "kind", "question", "scene", "voice", "seconds")  # fields of a clip's record


def written(truth: str, hypothesis: str) -> str:
    """A hypothesis with capitals and marks: the truth's where words agree, and at its beginning and end."""
    words = [word for word in truth.rstrip(MARKS).split() if to_alphabet(word)]
    said = hypothesis.split()
    found = list(said)
    pairs = SequenceMatcher(None, [to_alphabet(word) for word in words], said, autojunk=False)
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


@lru_cache(maxsize=1)
def recogniser(folder: Path) -> tuple[AudioEncoder, NgramLM]:
    """What stage `audio` left, loaded once a process."""
    torch.set_num_threads(1)
    return AudioEncoder.from_pretrained(folder).eval(), NgramLM.load(folder / UNSEEN)


@lru_cache(maxsize=1)
def clips(folders: tuple[Path, ...], kinds: tuple[str, ...], seed: int) -> list[tuple[ShardReader, int]]:
    """All clips of these kinds in several folders, shuffled."""
    readers = [ShardReader(folder) for folder in folders]
    places = [
        (reader, place)
        for reader in readers
        for place in range(len(reader))
        if reader.record(place)["kind"] in kinds
    ]
    return [places[i] for i in np.random.default_rng(seed).permutation(len(places))]


@dataclass(frozen=True)
class ErrorMaker:
    """Number `index` of the clips with the transcript that it was given."""

    recogniser: Path  # the folder that stage `audio` leaves
    folders: tuple[Path, ...]  # of shards
    kinds: tuple[str, ...]  # of clips
    noisy: float  # share of clips that noise is added to
    seed: int

    @torch.inference_mode()
    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        places = clips(self.folders, self.kinds, self.seed)
        rng = np.random.default_rng([self.seed, index])
        reader, place = places[index % len(places)]
        record = reader[place]
        levels = augment_mel(record["mel"], rng, self.noisy)  # (128, T)
        encoder, ngrams = recogniser(self.recogniser)
        mel = torch.as_tensor(dequantise_mel(levels))
        log_probs = encoder.ctc_log_probs(encoder(mel[None], torch.tensor([mel.shape[1]])))[0]  # (S, labels)
        best = prefix_beam_search(log_probs, ngrams)[0].text
        kept = {name: record[name] for name in KEPT if name in record}
        return kept | {"transcript": written(record["text"], best)}, {"mel": levels}


def build_asr_errors(folder: Path, make: ErrorMaker, count: int, workers: int) -> None:
    """Fill `folder` with shards of clips and transcripts; it takes a fifth of a second a clip."""
    generate(folder, make, count, 100, workers, "ASR errors")
