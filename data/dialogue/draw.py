"""Drawing with held-out shares: which wordings and arguments a split may use.

Of every list of wordings, two in seven are kept from training (one for dev, one for test), as are
about 3 % + 5 % of argument combinations where a fresh combination is a fair question.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from data.word_lists import read_lists

# More wordings for training, by the first of the list that they extend: written without sight of the
# held-out ones.
FURTHER = read_lists(__file__, "further")
DEV_SHARE, TEST_SHARE = 3, 5  # percent of argument combinations


class Turn(NamedTuple):
    """One question, its answer, and other answers that are as right."""

    question: str
    answer: str
    accept: tuple[str, ...] = ()
    keep: bool = False  # the exact characters of the question matter: no casual variation
    kind: str = ""  # where it is another than that of its maker
    rule: tuple = ()  # of scoring.py, where more is right than can be listed
    after: int | None = None  # turns between a fact that the user told and this question for it

    def check(self, kind: str) -> dict:
        """What is right: {"kind", "answer", "accept"}, and "rule" where there is one."""
        right = {"kind": self.kind or kind, "answer": self.answer, "accept": list(self.accept)}
        right |= {"rule": list(self.rule)} if self.rule else {}
        return right | ({} if self.after is None else {"after": self.after})


@lru_cache(maxsize=4096)
def share(options: tuple[str, ...], split: str) -> tuple[str, ...]:
    """The wordings of one split. Lists shorter than seven are common to all splits."""
    if len(options) < 7:
        return options
    if split == "train":
        return tuple(o for i, o in enumerate(options) if i % 7 < 5)
    return tuple(o for i, o in enumerate(options) if i % 7 == (5 if split == "dev" else 6))


def slot(key: object) -> int:
    """A stable number 0..99 of any printable key."""
    return zlib.crc32(repr(key).encode()) % 100


def in_split(key: object, split: str) -> bool:
    """Whether an argument combination belongs to a split."""
    place = slot(key)
    if place < TEST_SHARE:
        return split == "test"
    if place < TEST_SHARE + DEV_SHARE:
        return split == "dev"
    return split == "train"


class Draw:
    """A random generator that knows its split."""

    def __init__(self, rng: random.Random, split: str) -> None:
        if split not in ("train", "dev", "test"):
            raise ValueError(f"split must be train, dev or test, not {split!r}")
        self.rng, self.split = rng, split
        self.chance = rng.random

    def pick(self, options: Sequence):
        """Any option, all splits alike: for facts, which must be seen to be known."""
        return options[int(self.chance() * len(options))]

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends possible."""
        return low + int(self.chance() * (high - low + 1))

    def say(self, wordings: tuple[str, ...], **values: object) -> str:
        """A wording of this split, filled in."""
        chosen = share(wordings, self.split)
        if self.split == "train":
            chosen += FURTHER.get(wordings[0], ())
        return self.pick(chosen).format(**values)

    def practice(self, share: float) -> bool:
        """True for so large a share of training, never in dev and test, where it draws nothing.

        For what is wider than the questions that are asked: numbers, names and things beyond those
        of the world, so that a rule pays better than remembering.
        """
        return self.split == "train" and self.chance() < share

    def fresh(self, make: Callable[[], object]):
        """Draws until the arguments belong to this split."""
        for _ in range(10000):
            values = make()
            if in_split(values, self.split):
                return values
        raise RuntimeError(f"no arguments of split {self.split} in 10000 draws")
