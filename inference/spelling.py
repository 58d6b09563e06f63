"""Spelling: a transcript is one of the readings of a sound, as the Thinker writes it.

The ears' letters and the table of words say what may have been said (models/readings.py). The
Thinker writes: each answer that is followed goes on only by pieces that spell a reading further, or by
a mark where a word ends. So it chooses among readings, capitals and marks, and nothing that was not
heard comes out. The score of an answer is a mean of both judges' logarithms. A Thinker that was taught
what people say has judged the readings as lines of text by then (models/expectation.py), and neighbours
of the best with them (models/climbing.py).

Paper: Watanabe et al., Hybrid CTC/attention architecture for end-to-end speech recognition, 2017.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.prompt import Prompt
from models.climbing import climbed
from models.expectation import expected
from models.readings import NAMED, Reading, judged, readings, weight
from models.tokenizer import Tokenizer

BONUS = 0.5  # for each letter: answers that have come further are compared with those that lag
READINGS = 80  # that are chosen among
LETTERS = re.compile(r" ?[a-z']+")  # what a piece may spell, in lower case
MARKS = re.compile(r'[.,!?;:"]+')  # and what may stand between words


class Pieces:
    """A tokenizer's pieces by what they spell.

    Args:
        texts: of all ids, None where an id has none.
    """

    def __init__(self, texts: list[str | None]) -> None:
        self.spelling: dict[str, list[int]] = defaultdict(list)
        self.marks: list[int] = []
        for token, text in enumerate(texts):
            if text is None:
                continue
            if MARKS.fullmatch(text):
                self.marks.append(token)
            elif text in (" ", "-"):  # both part words
                self.spelling[" "].append(token)
            elif LETTERS.fullmatch(text.lower()):
                self.spelling[text.lower()].append(token)
        self.longest = max(map(len, self.spelling), default=0)

    def beginning(self, rest: str):
        """(token, what it spells) of all that the rest of a reading can go on with."""
        for end in range(1, min(len(rest), self.longest) + 1):
            for token in self.spelling.get(rest[:end], ()):
                yield token, rest[:end]


@lru_cache(maxsize=4)
def pieces_of(tokenizer: Tokenizer) -> Pieces:
    """Of a tokenizer."""
    return Pieces([
        None if token in tokenizer.special else tokenizer.decode([token])
        for token in range(len(tokenizer))
    ])


@dataclass
class Answer:
    """One that is being followed."""

    letters: str  # of the readings that it may become
    written: float  # the Thinker's log-probability
    heard: float  # the score of the best of these readings
    marked: bool = False  # a mark came last


class Speller:
    """Both judges' ranking of the answers that a search follows.

    Args:
        heard: what may have been said, the likeliest first.
        weight: of a reading's score; the rest is the Thinker's.
    """

    def __init__(self, heard: list[Reading], weight: float, pieces: Pieces, eos: int) -> None:
        self.heard, self.weight, self.pieces, self.eos = heard, weight, pieces, eos
        self.live = [Answer("", 0.0, 0.0)]
        self.grown: dict[tuple[int, int], Answer] = {}

    def candidates(self, steps: Tensor, count: int) -> list[tuple[float, int, int]]:
        """The best (score, live answer, next token), the best first.

        Args:
            steps: (W, V) the Thinker's log-probabilities; rows beyond the live answers are ignored.
        """
        self.grown = {
            (parent, token): grown
            for parent, answer in enumerate(self.live)
            for token, grown in self._grown(answer, steps[parent]).items()
        }
        ranked = [
            (
                (1 - self.weight) * answer.written
                + self.weight * answer.heard
                + BONUS * len(answer.letters),
                *place,
            )
            for place, answer in self.grown.items()
        ]
        return sorted(ranked, reverse=True)[:count]

    def _grown(self, answer: Answer, step: Tensor) -> dict[int, Answer]:
        """By token the answer with that token more. step (V,)"""
        found: dict[int, Answer] = {}  # the first reading that a token goes on with is the likeliest
        for reading in self.heard:
            if not reading.letters.startswith(answer.letters):
                continue
            rest = reading.letters[len(answer.letters) :]
            for token, spelt in self.pieces.beginning(rest):
                if token not in found:
                    found[token] = Answer(answer.letters + spelt, 0.0, reading.score)
            if not rest:
                found.setdefault(self.eos, Answer(answer.letters, 0.0, reading.score))
            if answer.letters and not answer.marked and rest[:1] in ("", " "):
                for token in self.pieces.marks:
                    found.setdefault(token, Answer(answer.letters, 0.0, reading.score, True))
        tokens = list(found)
        for token, log_prob in zip(tokens, step[tokens].tolist(), strict=True):
            found[token].written = answer.written + log_prob
        return found

    def follow(self, chosen: list[tuple[float, int, int]]) -> None:
        """These go on."""
        self.live = [self.grown[parent, token] for _, parent, token in chosen]


@torch.inference_mode()
def speller_for(model, prompt: Prompt, config: GenerateConfig, tokenizer) -> Speller | None:
    """What judges the answers to a prompt by their letters, where it asks for a transcript."""
    if not prompt.transcript or config.ctc_weight == 0.0 or tokenizer is None:
        return None
    mel = prompt.mels[-1].to(next(model.parameters()))
    letters, wording = model.spelled(mel).cpu(), model.wording
    if wording is not None and prompt.seen:
        wording = wording.biased(prompt.seen, NAMED)
    heard = readings(letters, wording)[:READINGS]
    if model.judge is not None:
        expect = partial(expected, model.judge, tokenizer)
        heard = judged(heard, expect([one.letters for one in heard]))
        if wording is not None:
            heard = climbed(heard, letters, wording, expect)[:READINGS]
    share = weight(model.judge is not None) if config.ctc_weight is None else config.ctc_weight
    return Speller(heard, share, pieces_of(tokenizer), config.eos_token_id)
