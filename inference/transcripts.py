"""Transcripts by hybrid decoding: the CTC head proposes, the Thinker rescores and writes out.

CTC prefix beam search with an n-gram language model gives the n-best hypotheses (models/ctc.py). The
Thinker's beam search is constrained to them: an answer goes on only with tokens that spell a hypothesis
further, or with a mark where a word ends. So the Thinker chooses among hypotheses, capitals and marks.
An answer's score is a weighted mean of both log-probabilities.

Paper: Watanabe et al., Hybrid CTC/attention architecture for end-to-end speech recognition, 2017.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.prompt import Prompt
from models.ctc import Hypothesis, prefix_beam_search
from models.tokenizer import Tokenizer

LETTER_BONUS = 0.5  # nats a letter: answers that have come further are compared with those that lag
N_BEST = 80  # hypotheses that the Thinker chooses among
LETTERS = re.compile(r" ?[a-z']+")  # what a token may spell, in lower case
MARKS = re.compile(r'[.,!?;:"]+')  # and what may stand between words


class Spelling:
    """A tokenizer's tokens by what they spell in the CTC alphabet.

    Args:
        texts: of all ids, None where an id has none.
    """

    def __init__(self, texts: list[str | None]) -> None:
        self.tokens: dict[str, list[int]] = defaultdict(list)
        self.marks: list[int] = []
        for token, text in enumerate(texts):
            if text is None:
                continue
            if MARKS.fullmatch(text):
                self.marks.append(token)
            elif text in (" ", "-"):  # both part words
                self.tokens[" "].append(token)
            elif LETTERS.fullmatch(text.lower()):
                self.tokens[text.lower()].append(token)
        self.longest = max(map(len, self.tokens), default=0)

    def beginning(self, rest: str):
        """(token, what it spells) of all that the rest of a hypothesis can go on with."""
        for end in range(1, min(len(rest), self.longest) + 1):
            for token in self.tokens.get(rest[:end], ()):
                yield token, rest[:end]


@lru_cache(maxsize=4)
def spelling_of(tokenizer: Tokenizer) -> Spelling:
    """Of a tokenizer, worked out once."""
    return Spelling([
        None if token in tokenizer.special else tokenizer.decode([token])
        for token in range(len(tokenizer))
    ])


@dataclass
class Beam:
    """An answer that is being followed."""

    text: str  # of the hypotheses that it may become
    thinker: float  # the Thinker's log-probability
    ctc: float  # the score of the best of these hypotheses
    marked: bool = False  # a mark came last


class ConstrainedDecoder:
    """Candidates for the Thinker's beam search that spell one of the hypotheses.

    Args:
        hypotheses: the best first.
        weight: of a hypothesis' score; the rest is the Thinker's.
    """

    def __init__(
        self, hypotheses: list[Hypothesis], weight: float, spelling: Spelling, eos: int
    ) -> None:
        self.hypotheses, self.weight, self.spelling, self.eos = hypotheses, weight, spelling, eos
        self.live = [Beam("", 0.0, 0.0)]
        self.grown: dict[tuple[int, int], Beam] = {}

    def candidates(self, steps: Tensor, count: int) -> list[tuple[float, int, int]]:
        """The best (score, live beam, next token), the best first.

        Args:
            steps: (W, V) the Thinker's log-probabilities; rows beyond the live beams are ignored.
        """
        self.grown = {
            (parent, token): grown
            for parent, beam in enumerate(self.live)
            for token, grown in self._grow(beam, steps[parent]).items()
        }
        ranked = [
            (
                (1 - self.weight) * beam.thinker
                + self.weight * beam.ctc
                + LETTER_BONUS * len(beam.text),
                *place,
            )
            for place, beam in self.grown.items()
        ]
        return sorted(ranked, reverse=True)[:count]

    def _grow(self, beam: Beam, step: Tensor) -> dict[int, Beam]:
        """By token the beam with that token more. step (V,)"""
        found: dict[int, Beam] = {}  # the first hypothesis that a token goes on with is the best
        for hypothesis in self.hypotheses:
            if not hypothesis.text.startswith(beam.text):
                continue
            rest = hypothesis.text[len(beam.text) :]
            for token, spelt in self.spelling.beginning(rest):
                if token not in found:
                    found[token] = Beam(beam.text + spelt, 0.0, hypothesis.score)
            if not rest:
                found.setdefault(self.eos, Beam(beam.text, 0.0, hypothesis.score))
            if beam.text and not beam.marked and rest[:1] in ("", " "):
                for token in self.spelling.marks:
                    found.setdefault(token, Beam(beam.text, 0.0, hypothesis.score, True))
        tokens = list(found)
        for token, log_prob in zip(tokens, step[tokens].tolist(), strict=True):
            found[token].thinker = beam.thinker + log_prob
        return found

    def follow(self, chosen: list[tuple[float, int, int]]) -> None:
        """These go on."""
        self.live = [self.grown[parent, token] for _, parent, token in chosen]


@torch.inference_mode()
def constrain(model, prompt: Prompt, config: GenerateConfig, tokenizer) -> ConstrainedDecoder | None:
    """What constrains the answer to an encoded prompt; None where it asks for no transcript."""
    if prompt.asked is None or config.ctc_weight == 0.0 or tokenizer is None:
        return None
    log_probs = model.audio.ctc_log_probs(prompt.asked.encoded[None])[0].cpu()  # (4 * n, labels)
    hypotheses = prefix_beam_search(log_probs, model.ngram)[:N_BEST]
    spelling = spelling_of(tokenizer)
    return ConstrainedDecoder(hypotheses, config.ctc_weight, spelling, config.eos_token_id)
