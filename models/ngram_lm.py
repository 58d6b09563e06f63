"""N-gram language model: how likely a word is after the two before it.

Counted by stage `audio` (training/ngram_lm.py), not trained by gradient. It scores words in the CTC beam
search (models/ctc.py), as shallow fusion does.

The n-grams stand in a trie of arrays: those of one context lie together, sorted by word, and each
level says where the next one's begin. Logarithms take a byte each, in steps of a quarter of a nat.
What is not listed is backed off from: the context's penalty, then the same question with a word less
of context.

Source: Katz back-off over interpolated Kneser-Ney estimates, Chen and Goodman 1999.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from models.files import reading, replacing

ORDER = 3  # words, the one that is scored among them
STEPS = 4.0  # a nat
EDGE = 0  # the id that stands for a sentence's beginning, and for its end
UNKNOWN = -1  # the id of an out-of-vocabulary word
FILE = "ngram.safetensors"  # in a checkpoint
UNKNOWN_WORD, UNKNOWN_LETTER = -16.0, -2.0  # nats of such a word, and of each of its letters
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
    starts: np.ndarray  # (N of the level before + 1,) int32


class NgramLM:
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
        self.log_prob = lru_cache(maxsize=1 << 16)(self._log_prob)  # (context, word) -> nats
        self.begins = lru_cache(maxsize=1 << 16)(self._begins)  # letters -> nats

    def id(self, word: str) -> int:
        """A word's id, or UNKNOWN."""
        return self.ids.get(word, UNKNOWN)

    def step(self, context: Context, word: str) -> tuple[float, Context]:
        """A word's log-probability after a context, and the context that it makes."""
        index = self.id(word)
        if index == UNKNOWN:
            return UNKNOWN_WORD + UNKNOWN_LETTER * len(word), ()
        return self.log_prob(context, index), (*context, index)[1 - ORDER :]

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
            place = bisect_left(level.words, word, low, high)
            if place == high or level.words[place] != word:
                return None
        return place

    def _begins(self, letters: str) -> float:
        """Log-probability that a word begins with these letters, whatever came before it."""
        low = bisect_left(self.sorted, letters)
        high = bisect_left(self.sorted, letters + "~")
        if low == high:
            return UNKNOWN_WORD + UNKNOWN_LETTER * len(letters)
        return float(np.log(self.shares[high] - self.shares[low]))

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: the words as text, a line each, and every level's arrays."""
        arrays = {"vocabulary": np.frombuffer("\n".join(self.words).encode(), np.uint8)}
        for n, level in enumerate(self.levels, 1):
            arrays |= {f"{name}_{n}": array for name, array in vars(level).items()}
        with replacing(Path(path)) as temporary:
            save_file(arrays, temporary)

    @classmethod
    def load(cls, path: str | Path) -> NgramLM:
        """Read what `save` wrote.

        Raises:
            UserError: no such file, or another one.
        """
        with reading(path, "an n-gram table", "python train.py audio"):
            tensors = load_file(path)
            words = tensors["vocabulary"].tobytes().decode().split("\n")
            names = [field.name for field in fields(Level)]
            levels = [Level(*(tensors[f"{name}_{n}"] for name in names)) for n in range(1, ORDER + 1)]
        return cls(words, levels)
