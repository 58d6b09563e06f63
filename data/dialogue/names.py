"""Names of people: those of the world, and in training also some that nobody has.

A name is to be said again as it was given. With 84 names that is soon remembered instead of read,
and a name that training never gave then becomes another one.
"""

from __future__ import annotations

from data.dialogue.draw import Draw
from data.dialogue.facts import NAMES
from data.english import upper

MADE_UP = 0.4  # of the names in training
_STARTS = "b br c d dr f fl g gr h j k l m n p pr qu r s sh st t tr v w y z".split()
_VOWELS = "a e i o u ai ea ee ia io".split()
_ENDS = ["", "", "n", "l", "r", "s", "th", "ck", "nd", "m", "t", "x"]


def a_name(draw: Draw) -> str:
    """A name, in training often one that is made up."""
    return invented(draw) if draw.practice(MADE_UP) else draw.pick(NAMES)


def invented(draw: Draw) -> str:
    """A name that nobody has."""
    syllables = [draw.pick(_STARTS) + draw.pick(_VOWELS) for _ in range(draw.number(1, 3))]
    return upper("".join(syllables) + draw.pick(_ENDS))


def own_name(draw: Draw) -> str:
    """A name that is to be remembered: a few are kept for dev and test."""
    return draw.fresh(lambda: ("own", a_name(draw)))[1]
