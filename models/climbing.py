"""Hill climbing: better readings among the neighbours of good ones.

Paper: Rastrow et al., Hill climbing on speech lattices: a new rescoring framework, ICASSP 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter

from torch import Tensor

from models.neighbours import Instead, exchanged, likelihoods, listening, misheard
from models.readings import Reading, judged, reading_of
from models.wordlm import WordLM

ROUNDS = 3  # at most
FOLLOWED = 3  # readings whose neighbours are looked at in a round
SHORTLIST = 40  # neighbours that are judged in a round

SCORE = attrgetter("score")


def climbed(
    heard: list[Reading], log_probs: Tensor, wording: WordLM, expect: Callable[[list[str]], list[float]]
) -> list[Reading]:
    """Judged readings and neighbours of the best, until these bring nothing new; the likeliest first.

    Args:
        heard: as lines are judged (`models.readings.judged`).
        log_probs: (S, labels) of the slots they were found in.
        wording: the table of words.
        expect: log-probability in nats of lines.
    """
    known, looked = {one.letters: one for one in heard}, {""}
    instead = listening(log_probs, wording.lexicon)
    for _ in range(ROUNDS):
        lines = [one.letters for one in sorted(known.values(), key=SCORE, reverse=True)]
        best = [line for line in lines[:FOLLOWED] if line not in looked]
        looked.update(best)
        near = around(best, lines, log_probs, instead)
        new = [reading_of(line, nats, wording) for line, nats in near.items() if line and line not in known]
        likely = [one.letters for one in sorted(new, key=SCORE, reverse=True)[:SHORTLIST]]
        exact = spelt(likely, log_probs).items()
        found = [reading_of(line, nats, wording) for line, nats in exact if nats > -math.inf]
        if not found:
            break
        known |= {one.letters: one for one in judged(found, expect([one.letters for one in found]))}
    return sorted(known.values(), key=SCORE, reverse=True)


def around(best: list[str], lines: list[str], log_probs: Tensor, instead: Instead) -> dict[str, float]:
    """Neighbours of the best lines; by each about the log-probability that the ears spell it."""
    near: dict[str, float] = {}
    for line, nats in spelt(best, log_probs).items():
        for other, gain in misheard(line, log_probs, instead).items():
            near[other] = max(nats + gain, near.get(other, -math.inf))
    said = {other for line in best for other in exchanged(line, lines)} - {""}
    return near | spelt(sorted(said), log_probs)


def spelt(lines: list[str], log_probs: Tensor) -> dict[str, float]:
    """By line the log-probability that the ears spell the whole sound so. (S, labels)"""
    if not lines:
        return {}
    return dict(zip(lines, likelihoods([log_probs] * len(lines), lines).tolist(), strict=True))
