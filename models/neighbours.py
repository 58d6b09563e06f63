"""Neighbours: lines that differ from a reading in one place, by words that sound alike.

The search for readings (models/readings.py) follows some hundred texts through the whole sound. Where
several places are unsure, most combinations do not come through, and a word that the table of words
thinks little of is given up before the rest of the line could speak for it. So good readings are
looked at once more, place by place: what do other readings say there, and which words of the lexicon
may the stretch of sound be?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torchaudio.functional import forced_align

from models.letters import BLANK, LETTERS
from models.lexicon import Lexicon

SURE = 0.7  # probability: words that a stretch says so surely are left
WIDE = 2  # words that are exchanged at once
LONGEST = 60  # slots of 20 ms that they may take
ALIKE, HALVES = 12, 6  # words that are tried for a stretch, and for each half of one
GAP, GAPS = 0.01, 3  # least probability of a space where a stretch is parted, and so many of them

SPACE = LETTERS.index(" ") + 1
Instead = Callable[[int, int], list[tuple[str, float]]]  # (first slot, one past the last) -> said_in


def labels_of(line: str) -> list[int]:
    """The labels of a line's letters."""
    return [LETTERS.index(letter) + 1 for letter in line]


def likelihoods(sounds: list[Tensor], lines: list[str]) -> Tensor:
    """Log-probability that each sound is spelt as its line; -inf where that has too many letters.

    Args:
        sounds: log-probabilities of the slots, (S, labels) each.

    Returns:
        (N,)
    """
    labels = torch.tensor([label for line in lines for label in labels_of(line)])
    lengths = torch.tensor([len(line) for line in lines])
    slots = torch.tensor([len(sound) for sound in sounds])
    log_probs = pad_sequence(sounds).float()  # (S, N, labels)
    return -F.ctc_loss(log_probs, labels, slots, lengths, blank=BLANK, reduction="none")


def stretches(log_probs: Tensor, line: str) -> list[tuple[int, int]]:
    """The slots of each word, first and one past the last, along the likeliest path. (S, labels)"""
    path = forced_align(log_probs.float()[None], torch.tensor([labels_of(line)]), blank=BLANK)[0][0]
    spaces = (path == SPACE).int()  # (S,) a space may take several slots
    edges = torch.diff(spaces, prepend=spaces.new_zeros(1), append=spaces.new_zeros(1)).tolist()
    starts = [0, *(slot for slot, edge in enumerate(edges) if edge < 0)]
    ends = [*(slot for slot, edge in enumerate(edges) if edge > 0), len(log_probs)]
    return list(zip(starts, ends, strict=True))


def exchanged(line: str, others: Iterable[str]) -> Iterator[str]:
    """The line with what other readings say in one place."""
    words = line.split()
    for other in others:
        said = other.split()
        for kind, i, j, k, m in SequenceMatcher(None, words, said, autojunk=False).get_opcodes():
            if kind != "equal":
                yield " ".join(words[:i] + said[k:m] + words[j:])


def misheard(line: str, log_probs: Tensor, instead: Instead) -> dict[str, float]:
    """The line with other words where the sound is not sure of its own, and without each of these.

    Args:
        log_probs: (S, labels) of the slots.
        instead: what stretches may say, remembered for the next line.

    Returns:
        By line, about how much likelier the ears spell it (below 0: less likely).
    """
    words, places = line.split(), stretches(log_probs, line)
    spans = [
        (i, i + wide) for wide in range(1, WIDE + 1) for i in range(len(words) - wide + 1)
        if 0 < places[i + wide - 1][1] - places[i][0] <= LONGEST
    ]
    taken = [(places[i][0], places[j - 1][1]) for i, j in spans]
    sounds = [log_probs[start:end] for start, end in taken]
    own = likelihoods(sounds, [" ".join(words[i:j]) for i, j in spans]).tolist() if spans else []
    found: dict[str, float] = {}
    for (i, j), place, nats in zip(spans, taken, own, strict=True):
        if nats < math.log(SURE):
            for said, heard in instead(*place):
                other = " ".join([*words[:i], *said.split(), *words[j:]])
                found[other] = max(heard - nats, found.get(other, -math.inf))
    return found


def listening(log_probs: Tensor, lexicon: Lexicon) -> Instead:
    """What stretches of a sound may say, each worked out once. (S, labels)"""
    return cache(lambda start, end: list(said_in(log_probs[start:end], lexicon)))


def said_in(log_probs: Tensor, lexicon: Lexicon) -> Iterator[tuple[str, float]]:
    """What a stretch may say, each with its log-probability: nothing, one word, or two. (S, labels)"""
    slots = log_probs.exp().double().numpy()
    yield "", float(log_probs[:, BLANK].sum())
    yield from lexicon.likely(slots, ALIKE).items()
    gaps = [gap for gap in range(1, len(slots) - 1) if slots[gap, SPACE] > GAP]
    for gap in sorted(gaps, key=lambda gap: -slots[gap, SPACE])[:GAPS]:
        before, after = (lexicon.likely(half, HALVES) for half in (slots[:gap], slots[gap + 1 :]))
        for first, second in product(before, after):
            yield f"{first} {second}", before[first] + math.log(slots[gap, SPACE]) + after[second]
