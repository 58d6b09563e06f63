"""Readings: what a sound may have said, by the ears' letters and by the words there are.

A search over texts, slot by slot (models/letters.py): each text that is followed keeps the probability
of all ways in which the letters so far spell it. Where a word ends, the table of words says how likely
it was after the two before; one that has only begun counts as likely as all words that begin so. What
is not among the words can still be read, at a price, so that names and new words come through.

Paper: Hannun et al., First-pass large vocabulary continuous speech recognition using bi-directional
recurrent DNNs, arXiv:1408.2873 (prefix beam search with a language model).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import NamedTuple

from torch import Tensor

from models.letters import BLANK, LETTERS
from models.wordlm import EDGE, Context, WordLM

WIDTH = 300  # texts that are followed
BEHIND = 16.0  # nats: texts so much less likely than the best are given up
UNHEARD = -6.0  # nats: letters less likely in a slot are not tried there
WORDS = 1.2  # weight of the words' logarithm beside the letters'
TABLE, LINE = 0.45, 0.6  # weights of table and Thinker in the end, where it knows what people say
ALONE = -9.0  # nats: a word alone is no less likely as a line; which one it is, lines cannot tell
LISTED = -20.0  # nats, by the table: a word alone that it does not list is less likely
NAMED = 11.0  # nats, by the table: a word for what is seen beside the sound is so much likelier
READ, JUDGED = 0.75, 0.95  # weight of a reading beside its transcript by the Thinker; where lines are judged
BONUS = 1.5  # nats for each letter, or texts of fewer and longer words would win
NEVER = -1e9  # a logarithm; finite, so that differences of two are


@dataclass(slots=True)
class Text:
    """One that is followed."""

    letters: str
    spoken: float  # log-probability of the ways that end in its last letter
    silent: float  # and of those that end in a blank
    words: float  # log-probability of its whole words
    context: Context  # of them
    begun: float  # log-probability of the word that has begun

    def heard(self) -> float:
        """Log-probability of all ways."""
        return either(self.spoken, self.silent)

    def score(self) -> float:
        """What texts are compared by."""
        return self.heard() + WORDS * (self.words + self.begun) + BONUS * len(self.letters)


class Reading(NamedTuple):
    """What may have been said."""

    letters: str
    score: float
    words: float = 0.0  # what the table says of it, which `score` holds WORDS times


def either(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a + math.log1p(math.exp(b - a))


def readings(log_probs: Tensor, wording: WordLM | None) -> list[Reading]:
    """What a sound may have said, the likeliest first.

    Args:
        log_probs: (S, labels) of the slots.
        wording: the table of words; None: letters alone decide.
    """
    texts = [Text("", NEVER, 0.0, 0.0, (EDGE,), 0.0)]
    for slot in log_probs.tolist():
        texts = _listen(texts, slot, wording)
    found: dict[str, Reading] = {}
    for text in texts:
        reading = _ended(text, wording)
        if reading.letters not in found or found[reading.letters].score < reading.score:
            found[reading.letters] = reading
    return sorted(found.values(), key=attrgetter("score"), reverse=True)


def judged(heard: list[Reading], expected: list[float]) -> list[Reading]:
    """Readings as one judges them who also knows how likely each is as a line (models/expectation.py).

    The table was needed to find them. It knows less about a whole line, so its weight is taken back in part.
    """
    both = [as_line(one, nats) for one, nats in zip(heard, expected, strict=True)]
    return sorted(both, key=attrgetter("score"), reverse=True)


def reading_of(letters: str, heard: float, wording: WordLM) -> Reading:
    """A text as the search would have scored it. `heard`: log-probability that the ears spell it so"""
    words = wording.line(letters)
    return Reading(letters, heard + WORDS * words + BONUS * len(letters), words)


def as_line(one: Reading, nats: float) -> Reading:
    """A reading whose line has this log-probability."""
    if " " not in one.letters and LISTED < one.words != 0.0:  # 0: there is no table
        nats = max(nats, ALONE)
    return one._replace(score=one.score - (WORDS - TABLE) * one.words + LINE * nats)


def weight(expects: bool) -> float:
    """Of a reading's score; the rest is the Thinker's transcript. `expects`: lines are judged, too."""
    return JUDGED if expects else READ


def _listen(texts: list[Text], slot: list[float], wording: WordLM | None) -> list[Text]:
    """One slot more: each text goes on as it is, or by a letter."""
    tried = [label for label in range(1, len(slot)) if slot[label] > UNHEARD]
    before = {text.letters: text for text in texts}
    after: dict[str, Text] = {}
    for text in texts:
        heard, last = text.heard(), text.letters[-1:]
        same = _entry(after, text.letters, text)
        same.silent = either(same.silent, heard + slot[BLANK])
        for label in tried:
            letter, ways = LETTERS[label - 1], heard
            if letter == last:  # without a blank between them two of a letter are one
                same.spoken = either(same.spoken, text.spoken + slot[label])
                ways = text.silent
            if letter == " " and last in ("", " "):
                continue
            letters = text.letters + letter
            grown = after.get(letters)
            if grown is None:
                known = before.get(letters) or _grown(text, letter, wording)
                grown = _entry(after, letters, known)
            grown.spoken = either(grown.spoken, ways + slot[label])
    scored = [(text.score(), text) for text in after.values()]
    scored.sort(key=itemgetter(0), reverse=True)
    least = scored[0][0] - BEHIND
    return [text for score, text in scored[:WIDTH] if score >= least]


def _entry(after: dict[str, Text], letters: str, known: Text) -> Text:
    """The entry of a text in the next slot, with nothing heard so far."""
    entry = after.get(letters)
    if entry is None:
        entry = Text(letters, NEVER, NEVER, known.words, known.context, known.begun)
        after[letters] = entry
    return entry


def _grown(text: Text, letter: str, wording: WordLM | None) -> Text:
    """A text with a letter more, as the words judge it."""
    letters = text.letters + letter
    if wording is None:
        return Text(letters, NEVER, NEVER, 0.0, text.context, 0.0)
    if letter == " ":
        cost, context = wording.step(text.context, text.letters.rsplit(" ", 1)[-1])
        return Text(letters, NEVER, NEVER, text.words + cost, context, 0.0)
    begun = wording.beginning(letters.rsplit(" ", 1)[-1])
    return Text(letters, NEVER, NEVER, text.words, text.context, begun)


def _ended(text: Text, wording: WordLM | None) -> Reading:
    """A text that goes no further."""
    letters = text.letters.rstrip()
    if wording is None or not text.letters:
        return Reading(letters, text.score())
    whole = text if text.letters[-1] == " " else _grown(text, " ", wording)
    words = whole.words + wording.log_prob(whole.context, EDGE)
    return Reading(letters, text.heard() + WORDS * words + BONUS * len(letters), words)
