"""WordLM: how likely a word is after the two before it.

Counted, not trained by gradient (training/objectives/words.py). It hears nothing: beside the ears'
letters and the Thinker it is the judge of a transcript that knows which words there are and which
follow each other (models/readings.py).

The n-grams stand in a trie of arrays: those of one context lie together, sorted by word, and each
level says where the next one's begin. Logarithms take a byte each, in steps of a quarter of a nat.
What is not in the table is backed off from: the context's penalty, then the same question with a word
less of it.

Sources: Katz back-off over interpolated Kneser-Ney estimates, Chen and Goodman 1999; words that the
context makes likelier (contextual biasing), Zhao et al., Interspeech 2019.
"""

from __future__ import annotations

import lzma
from bisect import bisect_left
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from models.files import reading, replacing
from models.lexicon import Lexicon

ORDER = 3  # words, the one that is judged among them
STEPS = 4.0  # a nat
EDGE = 0  # the word that stands for a sentence's beginning, and for its end
UNKNOWN = -1  # a word that is not in the table
FILE = "words.safetensors"  # in a checkpoint
UNKNOWN_WORD, UNKNOWN_LETTER = -16.0, -2.0
Context = tuple[int, ...]


def quantised(logs: np.ndarray) -> np.ndarray:
    """Logarithms, none above 0 -> bytes."""
    return np.clip(np.round(-logs * STEPS), 0, 255).astype(np.uint8)


@dataclass
class Level:
    """The n-grams of one length, N of them; those of a shorter one lie at starts[i]:starts[i + 1]."""

    words: np.ndarray  # (N,) uint16, the last word of each
    logs: np.ndarray  # (N,) uint8, log-probability of it after those before
    backs: np.ndarray  # (N,) uint8, penalty for what is not listed after it; (0,) at the last level
    starts: np.ndarray  # (N of the level before + 1,) int64


class WordLM:
    """A trigram model over whole words, in lower case.

    Args:
        words: the vocabulary; the first is the edge of a sentence.
        levels: unigrams, bigrams, trigrams.
    """

    def __init__(self, words: list[str], levels: list[Level]) -> None:
        self.words, self.levels = words, levels
        self.ids = {word: index for index, word in enumerate(words)}
        order = sorted(range(1, len(words)), key=words.__getitem__)
        self.sorted = [words[index] for index in order]
        shares = np.exp(levels[0].logs[order] / -STEPS)
        self.shares = np.concatenate([[0.0], shares.cumsum()])  # (V,) of the words before each place
        self.bonus: dict[str, float] = {}  # nats by which words are likelier
        self.log_prob = lru_cache(maxsize=1 << 16)(self._log_prob)  # (context, word) -> nats
        self.beginning = lru_cache(maxsize=1 << 16)(self._beginning)  # letters -> nats

    def id(self, word: str) -> int:
        """A word's id, or UNKNOWN."""
        return self.ids.get(word, UNKNOWN)

    def step(self, context: Context, word: str) -> tuple[float, Context]:
        """A word's log-probability after a context, and the context that it makes."""
        index = self.id(word)
        if index == UNKNOWN:
            return UNKNOWN_WORD + UNKNOWN_LETTER * len(word), ()
        nats = self.log_prob(context, index) + self.bonus.get(word, 0.0)
        return nats, (*context, index)[1 - ORDER :]

    def biased(self, words: Iterable[str], nats: float) -> WordLM:
        """This table with some words likelier, whatever comes before them; those not listed stay unlisted.

        What it then says of a line is a score, no longer a probability.
        """
        other = copy(self)
        other.bonus = {word: nats for word in words if word in self.ids}
        other.beginning = lru_cache(maxsize=1 << 16)(other._beginning)
        other.lexicon = self.lexicon.biased(other.bonus)
        return other

    def line(self, letters: str) -> float:
        """Log-probability of all words of a line, and of its end."""
        total, context = 0.0, (EDGE,)
        for word in letters.split():
            log_prob, context = self.step(context, word)
            total += log_prob
        return total + self.log_prob(context, EDGE)

    @cached_property
    def lexicon(self) -> Lexicon:
        """Its words by what they sound like, made when it is first asked (0.3 s)."""
        logs = self.levels[0].logs / -STEPS
        return Lexicon(dict(zip(self.words[1:], logs[1:].tolist(), strict=True)))

    def _log_prob(self, context: Context, word: int) -> float:
        penalty = 0
        for start in range(len(context) + 1):
            known = context[start:]
            place = self._find((*known, word))
            if place is not None:
                return -(penalty + int(self.levels[len(known)].logs[place])) / STEPS
            place = self._find(known)
            if place is not None:
                penalty += int(self.levels[len(known) - 1].backs[place])
        raise ValueError(f"no word {word}")

    def _find(self, ngram: Context) -> int | None:
        """Where an n-gram stands in its level."""
        if not ngram:
            return None
        place = ngram[0]
        for level, word in zip(self.levels[1:], ngram[1:], strict=False):
            low, high = level.starts[place], level.starts[place + 1]
            place = int(low + np.searchsorted(level.words[low:high], word))
            if place == high or level.words[place] != word:
                return None
        return place

    def _beginning(self, letters: str) -> float:
        """Log-probability that some word begins with these letters, whatever came before it."""
        low = bisect_left(self.sorted, letters)
        high = bisect_left(self.sorted, letters + "~")
        share = self.shares[high] - self.shares[low]
        for word, nats in self.bonus.items():
            if word.startswith(letters):
                share += np.expm1(nats) * np.exp(self.levels[0].logs[self.ids[word]] / -STEPS)
        return float(np.log(share)) if high > low else UNKNOWN_WORD + UNKNOWN_LETTER * len(letters)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: each array as compressed bytes, the low ones of all numbers first."""
        arrays = {"words": np.frombuffer("\n".join(self.words).encode(), np.uint8)}
        for n, level in enumerate(self.levels, 1):
            arrays[f"logs_{n}"], arrays[f"backs_{n}"] = level.logs, level.backs
            if n > 1:
                arrays[f"words_{n}"] = level.words
                arrays[f"counts_{n}"] = np.diff(level.starts).astype(np.uint16)
        with replacing(Path(path)) as temporary:
            save_file({name: _compressed(array) for name, array in arrays.items()}, temporary)

    @classmethod
    def load(cls, path: str | Path) -> WordLM:
        """Read what `save` wrote.

        Raises:
            UserError: no such file, or another one.
        """
        with reading(path, "a table of words", "python train.py words"):
            tensors = load_file(path)
            words = _restored(tensors["words"], np.uint8).tobytes().decode().split("\n")
            levels = []
            for n in range(1, ORDER + 1):
                logs, backs = (_restored(tensors[f"{name}_{n}"], np.uint8) for name in ("logs", "backs"))
                last, starts = np.arange(len(words)), np.zeros(1, np.int64)
                if n > 1:
                    last = _restored(tensors[f"words_{n}"], np.uint16)
                    counts = _restored(tensors[f"counts_{n}"], np.uint16)
                    starts = np.concatenate([[0], counts.cumsum(dtype=np.int64)])
                levels.append(Level(last, logs, backs, starts))
        return cls(words, levels)


def _compressed(array: np.ndarray) -> np.ndarray:
    """Bytes of an array, sorted by their place in its numbers, compressed. uint8"""
    planes = array.view(np.uint8).reshape(-1, array.itemsize).T
    return np.frombuffer(lzma.compress(planes.tobytes(), preset=9), np.uint8)


def _restored(compressed: np.ndarray, kind: type) -> np.ndarray:
    """What `_compressed` was given."""
    planes = np.frombuffer(lzma.decompress(compressed.tobytes()), np.uint8)
    planes = planes.reshape(np.dtype(kind).itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind).reshape(-1)
