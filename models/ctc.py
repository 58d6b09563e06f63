"""CTC: the alphabet of the audio encoder's head, and prefix beam search with an n-gram language model.

The search follows texts frame by frame. Each keeps the probability of all alignments that spell it, those
that end in a blank apart from those that do not. Where a word ends, the language model scores it after
the two words before it; a word that has only begun scores as the sum of all words that begin so. Words
outside the vocabulary can still be written, at a price, so that names come through.

Papers: Graves et al., Connectionist temporal classification, 2006; Hannun et al., First-pass large
vocabulary continuous speech recognition using bi-directional recurrent DNNs, arXiv:1408.2873.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import NamedTuple

from torch import Tensor

from models.ngram_lm import EDGE, Context, NgramLM

ALPHABET = " 'abcdefghijklmnopqrstuvwxyz"  # labels 1, 2, …
BLANK = 0
LABELS = len(ALPHABET) + 1
# Frames of the CTC head a token: a token lasts 80 ms, and people speak about 14 letters a second.
CTC_FRAMES = 4

WIDTH = 300  # prefixes that are followed, and so the most hypotheses
PRUNE = 16.0  # nats: prefixes so much below the best are given up
MIN_LOG_PROB = -6.0  # nats: labels below it in a frame are not tried there
LM_WEIGHT = 1.2  # of the n-gram log-probability beside CTC's
LETTER_BONUS = 1.5  # nats a letter beside the n-gram, which prefers texts of fewer and longer words
NEVER = -1e9  # log of zero; finite, so that differences of two are


def to_alphabet(text: str) -> str:
    """Text in the CTC alphabet: lower-case letters, apostrophes and single spaces."""
    return " ".join(re.sub(r"[^a-z' ]", " ", text.lower()).split())


class Hypothesis(NamedTuple):
    """A transcript in the CTC alphabet, with its score in nats."""

    text: str
    score: float


@dataclass(slots=True)
class Prefix:
    """The beginning of a transcript that the search follows. Log-probabilities in nats."""

    text: str
    ends_in_label: float  # of all alignments whose last frame is its last letter
    ends_in_blank: float  # and of those whose last frame is a blank
    fused: float  # weighted n-gram score of its whole words, and the bonus of letters
    context: Context  # of the n-gram after them
    begun: float  # weighted n-gram score of the word that has begun

    def ctc(self) -> float:
        """Log-probability of all alignments."""
        return log_add(self.ends_in_label, self.ends_in_blank)

    def score(self) -> float:
        """What prefixes are compared by."""
        return self.ctc() + self.fused + self.begun


def log_add(a: float, b: float) -> float:
    """log(exp(a) + exp(b))"""
    if a < b:
        a, b = b, a
    return a + math.log1p(math.exp(b - a))


def prefix_beam_search(log_probs: Tensor, lm: NgramLM | None = None) -> list[Hypothesis]:
    """The n-best transcripts of a sound, the best first.

    Args:
        log_probs: (S, labels) from the CTC head.
        lm: n-gram language model (shallow fusion); None: CTC alone decides.
    """
    prefixes = [Prefix("", NEVER, 0.0, 0.0, (EDGE,), 0.0)]
    for frame in log_probs.tolist():
        prefixes = _advance(prefixes, frame, lm)
    best: dict[str, Hypothesis] = {}
    for prefix in prefixes:
        hypothesis = _finish(prefix, lm)
        if hypothesis.text not in best or best[hypothesis.text].score < hypothesis.score:
            best[hypothesis.text] = hypothesis
    return sorted(best.values(), key=attrgetter("score"), reverse=True)


def _advance(prefixes: list[Prefix], frame: list[float], lm: NgramLM | None) -> list[Prefix]:
    """One frame more: each prefix stays as it is, or grows by a letter."""
    tried = [label for label in range(1, len(frame)) if frame[label] > MIN_LOG_PROB]
    before = {prefix.text: prefix for prefix in prefixes}
    after: dict[str, Prefix] = {}
    for prefix in prefixes:
        ctc, last = prefix.ctc(), prefix.text[-1:]
        same = _entry(after, prefix.text, prefix)
        same.ends_in_blank = log_add(same.ends_in_blank, ctc + frame[BLANK])
        for label in tried:
            letter, alignments = ALPHABET[label - 1], ctc
            if letter == last:  # without a blank between them two of a letter are one
                same.ends_in_label = log_add(
                    same.ends_in_label, prefix.ends_in_label + frame[label]
                )
                alignments = prefix.ends_in_blank
            if letter == " " and last in ("", " "):
                continue
            text = prefix.text + letter
            grown = after.get(text)
            if grown is None:
                grown = _entry(after, text, before.get(text) or _grow(prefix, letter, lm))
            grown.ends_in_label = log_add(grown.ends_in_label, alignments + frame[label])
    scored = [(prefix.score(), prefix) for prefix in after.values()]
    scored.sort(key=itemgetter(0), reverse=True)
    least = scored[0][0] - PRUNE
    return [prefix for score, prefix in scored[:WIDTH] if score >= least]


def _entry(after: dict[str, Prefix], text: str, known: Prefix) -> Prefix:
    """The entry of a prefix in the next frame, with no alignment yet."""
    entry = after.get(text)
    if entry is None:
        entry = Prefix(text, NEVER, NEVER, known.fused, known.context, known.begun)
        after[text] = entry
    return entry


def _grow(prefix: Prefix, letter: str, lm: NgramLM | None) -> Prefix:
    """A prefix with a letter more, as the language model scores it."""
    text = prefix.text + letter
    if lm is None:
        return Prefix(text, NEVER, NEVER, 0.0, prefix.context, 0.0)
    fused = prefix.fused + LETTER_BONUS
    if letter == " ":
        cost, context = lm.step(prefix.context, prefix.text.rsplit(" ", 1)[-1])
        return Prefix(text, NEVER, NEVER, fused + LM_WEIGHT * cost, context, 0.0)
    begun = LM_WEIGHT * lm.begins(text.rsplit(" ", 1)[-1])
    return Prefix(text, NEVER, NEVER, fused, prefix.context, begun)


def _finish(prefix: Prefix, lm: NgramLM | None) -> Hypothesis:
    """A prefix that grows no further."""
    text = prefix.text.rstrip()
    if lm is None or not prefix.text:
        return Hypothesis(text, prefix.score())
    whole = prefix if prefix.text[-1] == " " else _grow(prefix, " ", lm)
    end = LM_WEIGHT * lm.log_prob(whole.context, EDGE) - LETTER_BONUS  # its last space is no letter
    return Hypothesis(text, prefix.ctc() + whole.fused + end)
