"""Spelling any word, and rhymes."""

from __future__ import annotations

import re

from data.dialogue import words
from data.dialogue.draw import Draw, Turn
from data.dialogue.wordings import LISTS, SPELLED, WORDINGS
from data.english import upper

RHYMES: dict[str, list[str]] = {}  # word -> what rhymes with it
for _family in LISTS["rhymes"]:
    for _word in _family:
        RHYMES.setdefault(_word, []).extend(w for w in _family if w != _word)
_COMMON = frozenset(SPELLED)
_RHYMING = tuple(RHYMES)
INVENTED = 0.6  # of the words spelled in training
LONGEST = 12  # letters of an invented word


def spell_any(draw: Draw) -> list[Turn]:
    """Any common word, letter by letter; some words are kept for dev and test."""
    if draw.practice(INVENTED):
        word = _invented(draw)
    else:
        word = draw.fresh(lambda: ("spell", draw.pick(SPELLED)))[1]
        while draw.split != "train" and word in words.SPELLABLE:  # other kinds spell these in training
            word = draw.fresh(lambda: ("spell", draw.pick(SPELLED)))[1]
    spelled = "-".join(word.upper())
    accept = (" ".join(word.upper()), ", ".join(word.upper()))
    return [Turn(draw.say(words.SPELL, w=word), f"{spelled}.", accept)]


def _invented(draw: Draw) -> str:
    """A word that is none: the beginning of one and the end of another, or letters in turn."""
    while draw.chance() < 0.7:
        first, second = draw.pick(SPELLED), draw.pick(SPELLED)
        word = first[: draw.number(1, len(first) - 1)] + second[draw.number(1, len(second) - 1) :]
        if word not in _COMMON and len(word) <= LONGEST:
            return word
    letters = ["bcdfghjklmnprstvwxyz" if i % 2 else "aeiou" for i in range(draw.number(3, 8))]
    return "".join(map(draw.pick, letters))


def common(spelled: str) -> bool:
    """Whether "B-A-N-A-N-A." is a common word, not one that was invented."""
    return re.sub("[^a-z]", "", spelled.lower()) in _COMMON


def rhyme(draw: Draw) -> list[Turn]:
    """A rhyme for a word, or whether two words rhyme."""
    word = draw.pick(_RHYMING)
    if draw.chance() < 0.3:
        yes = draw.chance() < 0.5
        other = draw.pick(RHYMES[word]) if yes else draw.pick(_RHYMING)
        while not yes and (other == word or other in RHYMES[word]):
            other = draw.pick(_RHYMING)
        answer = f"Yes, {word} rhymes with {other}." if yes else f"No, {word} does not rhyme with {other}."
        question = upper(draw.say(WORDINGS["is_rhyme"], w=word, v=other))
        return [Turn(question, answer, ("Yes" if yes else "No",))]
    found = RHYMES[word][0]
    accept = tuple(RHYMES[word]) + tuple(f"{upper(r)} rhymes with {word}." for r in RHYMES[word])
    return [Turn(draw.say(WORDINGS["rhyme"], w=word), f"{upper(found)} rhymes with {word}.", accept)]
