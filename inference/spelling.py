"""Spelling: what the ears' letters say of a transcript while the Thinker writes it.

Beam search for a transcript asks two judges. The Thinker knows which words go together but smooths
over what it did not catch; the ears' spelling head has heard each letter in its place but knows no
words. The score of an answer is a mean of both logarithms, the letters' being the probability
that what was heard begins with the answer's letters (or, at its end, is exactly them).

Paper: Watanabe et al., Hybrid CTC/attention architecture for end-to-end speech recognition, 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.prompt import Prompt
from models.letters import BLANK, LETTERS, spoken_letters

BONUS = 0.5  # for each letter: answers that have come further are compared with those that lag
PROPOSED = 12  # tokens that the Thinker puts forward for each answer
NEVER = -1e9  # a logarithm; finite, so that differences of two are


class Spelling:
    """How well beginnings of a text fit one clip's letters.

    A state (2, S) holds, for each slot, the log-probability of all paths up to it that spell the
    beginning and end in its last letter, or in a blank.

    Args:
        log_probs: (S, labels) of the clip's slots.
    """

    def __init__(self, log_probs: Tensor):
        self.log_probs = log_probs.double()  # (S, labels); sums of many logarithms
        self.total = self.log_probs.cumsum(0)  # (S, labels)

    def start(self) -> Tensor:
        """The state of the empty text. (2, S)"""
        silent = self.total[:, BLANK]
        return torch.stack([torch.full_like(silent, NEVER), silent])

    def extend(self, states: Tensor, last: list[str], added: list[str]) -> tuple[Tensor, Tensor]:
        """Texts grow by letters -> their states (N, 2, S), and how likely each beginning is (N,).

        Args:
            states: (N, 2, S).
            last: the last letter of each, "" of an empty one.
            added: one letter or more that each grows by.
        """
        states = states.clone()
        scores = states.new_zeros(len(added))
        for place in range(max(map(len, added))):
            rows = [i for i, letters in enumerate(added) if place < len(letters)]
            letters = [added[i][place] for i in rows]
            before = [added[i][place - 1] if place else last[i] for i in rows]
            labels = torch.tensor([LETTERS.index(letter) + 1 for letter in letters])
            again = torch.tensor([a == b for a, b in zip(letters, before, strict=True)])
            fresh = torch.tensor([not letter for letter in before])
            states[rows], scores[rows] = self._step(states[rows], labels, again, fresh)
        return states, scores

    def _step(
        self, states: Tensor, labels: Tensor, again: Tensor, fresh: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One letter more. states (n, 2, S); labels, again, fresh (n,) -> (n, 2, S), (n,)

        A letter that comes again must be told from the last by a blank. Both recursions along time
        are sums of products: cumulative sums, once the products so far are divided out.
        """
        spoken, silent = states.unbind(1)  # (n, S) each
        ways = torch.where(again[:, None], silent, torch.logaddexp(spoken, silent))  # (n, S)
        begun = torch.where(fresh, 0.0, NEVER).to(ways)  # (n,): nothing said before the first slot
        entered = torch.cat([begun[:, None], ways[:, :-1]], 1) + self.log_probs[:, labels].T  # (n, S)
        own, blank = self.total[:, labels].T, self.total[:, BLANK]  # (n, S), (S,)
        spoken = own + (entered - own).logcumsumexp(1)
        left = torch.cat([torch.full_like(begun, NEVER)[:, None], spoken[:, :-1]], 1)  # (n, S)
        silent = blank + (left + self.log_probs[:, BLANK] - blank).logcumsumexp(1)
        return torch.stack([spoken, silent], 1), entered.logsumexp(1)

    def whole(self, states: Tensor) -> Tensor:
        """How likely the texts are all that was said. (N, 2, S) -> (N,)"""
        return torch.logaddexp(states[:, 0, -1], states[:, 1, -1])


@dataclass
class Answer:
    """One that is being followed."""

    ids: list[int]
    letters: str
    state: Tensor  # (2, S)
    spelt: float  # log-probability that what was heard begins so
    written: float  # the Thinker's log-probability
    mute: bool = False  # its last token added no letter


class Speller:
    """Both judges' ranking of the answers that a search follows.

    Args:
        weight: of the letters' logarithm; the rest is the Thinker's.
        decode: ids -> text.
    """

    def __init__(
        self, spelling: Spelling, weight: float, decode: Callable[[list[int]], str], eos: int
    ):
        self.spelling, self.weight, self.decode, self.eos = spelling, weight, decode, eos
        self.live = [Answer([], "", spelling.start(), 0.0, 0.0)]
        self.grown: dict[tuple[int, int], Answer] = {}

    def candidates(self, steps: Tensor, count: int) -> list[tuple[float, int, int]]:
        """The best (score, live answer, next token), the best first.

        Args:
            steps: (W, V) the Thinker's log-probabilities; rows beyond the live answers are ignored.
        """
        values, tokens = steps[: len(self.live)].topk(PROPOSED)  # (W, P) each
        self.grown = {}
        for parent, answer in enumerate(self.live):
            for value, token in zip(values[parent].tolist(), tokens[parent].tolist(), strict=True):
                ids = [*answer.ids, token]
                letters = answer.letters
                if token != self.eos:
                    letters = spoken_letters(self.decode(ids))
                self.grown[parent, token] = Answer(
                    ids, letters, answer.state, answer.spelt, answer.written + value
                )
        self._listen()
        ranked = [
            (
                (1 - self.weight) * answer.written
                + self.weight * answer.spelt
                + BONUS * len(answer.letters),
                *place,
            )
            for place, answer in self.grown.items()
        ]
        return sorted(ranked, reverse=True)[:count]

    def _listen(self) -> None:
        """Let the ears judge what has grown."""
        longer = []
        for (parent, token), answer in self.grown.items():
            before = self.live[parent]
            if token == self.eos:
                answer.spelt = float(self.spelling.whole(before.state[None])[0])
            elif len(answer.letters) > len(before.letters) and answer.letters.startswith(
                before.letters
            ):
                longer.append((before, answer))
            elif answer.letters != before.letters or before.mute:
                answer.spelt = NEVER  # letters taken back, or marks after marks: nothing heard
            answer.mute = answer.letters == before.letters
        if not longer:
            return
        states, scores = self.spelling.extend(
            torch.stack([before.state for before, _ in longer]),
            [before.letters[-1:] for before, _ in longer],
            [answer.letters[len(before.letters) :] for before, answer in longer],
        )
        for (_, answer), state, score in zip(longer, states, scores.tolist(), strict=True):
            answer.state, answer.spelt = state, score

    def follow(self, chosen: list[tuple[float, int, int]]) -> None:
        """These go on."""
        self.live = [self.grown[parent, token] for _, parent, token in chosen]


@torch.inference_mode()
def speller_for(model, prompt: Prompt, config: GenerateConfig, tokenizer) -> Speller | None:
    """What judges the answers to a prompt by their letters, where it asks for a transcript."""
    if not prompt.transcript or not config.ctc_weight or tokenizer is None:
        return None
    mel = prompt.mels[-1].to(next(model.parameters()))
    spelling = Spelling(model.spelled(mel).cpu())
    return Speller(spelling, config.ctc_weight, tokenizer.decode, config.eos_token_id)
