"""Speculative decoding: a draft guesses several tokens, the model checks them in one pass.

What comes out has exactly the model's own distribution, whatever the draft: rejection sampling,
arXiv:2211.17192. Where guesses come from is inference.speculative.draft's business.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from inference.beams import beams_for
from inference.config import GenerateConfig
from inference.generation import DEFAULT, Generator, check_fits, find_native, thinker_of
from inference.notice import notice
from inference.prompt import Prompt
from inference.sampling import (
    distribution,
    draw,
    first_seen,
    likeliest_is_chosen,
    make_generators,
)
from inference.speculative.draft import NgramDraft, PromptLookup, ThinkerDraft
from inference.stopping import StopWatch
from models.errors import UserError


@dataclass(frozen=True)
class SpeculativeConfig:
    """How far to guess."""

    spec_k: int = 4  # tokens guessed at once, to begin with
    adaptive: bool = True  # one more after a round all right, as many as were right otherwise
    max_k: int = 12
    min_acceptance: float = 0.2  # below this share of right guesses a reply goes on without
    trial: int = 24  # guesses before that is judged

    def __post_init__(self) -> None:
        if not 1 <= self.spec_k <= self.max_k:
            raise UserError(f"spec_k must be between 1 and {self.max_k}, not {self.spec_k}")


def accept(
    drafted: list[int], q: Tensor | None, p: Tensor, generator: torch.Generator
) -> list[int]:
    """The guesses that stand, and one token more that the model chose itself.

    Args:
        drafted: k token ids.
        q: (k, V) distributions they were drawn from; None: each was certain.
        p: (k + 1, V) the model's distributions in the same places and after them.
    """
    for i, token in enumerate(drafted):
        chance = p[i, token] if q is None else p[i, token] / q[i, token]
        if float(torch.rand((), generator=generator)) < float(chance):
            continue
        left = p[i].clone()  # (V,): what the guesses did not already give its due
        if q is None:
            left[token] = 0
        else:
            left = (left - q[i]).clamp_min(0)
        return [*drafted[:i], int(draw(left.log()[None], [generator]))]
    return [*drafted, int(draw(p[-1:].log(), [generator]))]


def agreement(drafted: list[int], likeliest: list[int]) -> int:
    """How many guesses stand where the likeliest token is always taken."""
    right = 0
    while right < len(drafted) and drafted[right] == likeliest[right]:
        right += 1
    return right


class SpeculativeGenerator(Generator):
    """A `Generator` that takes several tokens a step where the draft guesses well."""

    def __init__(
        self,
        target,
        draft: PromptLookup | NgramDraft | ThinkerDraft,
        speculative: SpeculativeConfig = SpeculativeConfig(),  # noqa: B008  (frozen)
        config: GenerateConfig = DEFAULT,
        reserve: int | None = None,
        tokenizer=None,
    ) -> None:
        super().__init__(target, config, reserve, tokenizer)
        if isinstance(draft, ThinkerDraft):
            draft.check(thinker_of(target))
        self.draft, self.speculative = draft, speculative
        self.guessed = self.right = self.passes = 0  # of the latest call
        self.k = speculative.spec_k

    @property
    def acceptance_rate(self) -> float:
        """Share of guesses that stood, in the latest call."""
        return self.right / self.guessed if self.guessed else 0.0

    def stream(self, prompt: Prompt, config: GenerateConfig | None = None) -> Iterator[int]:
        """As `Generator.stream`, with the same tokens in greedy mode."""
        config = config or self.config
        if beams_for(config, prompt) > 1:  # several answers are followed: there is no one to guess
            yield from super().stream(prompt, config)
            return
        check_fits(prompt, self.capacity - self.position)
        watch = StopWatch(config.stop_strings, self.tokenizer)
        self.guessed = self.right = self.passes = 0
        self.k = self.speculative.spec_k
        logits = self._read(prompt, config)
        (generator,) = make_generators(config.seed, 1)
        room = self.capacity - self.position
        left = min(config.max_new_tokens, room)
        try:
            p = distribution(logits, config, first_seen([self.ids], logits, config))
            tokens = accept([], None, p, generator)
            while True:
                for token in tokens:
                    self.timing.tokens += 1
                    if token == config.eos_token_id:
                        return
                    self.ids.append(token)
                    left -= 1
                    yield token
                    if watch.push(token):
                        return
                    if left == 0:
                        if room < config.max_new_tokens:
                            notice("the context is full: the answer stops here")
                        return
                if self.native is None and not self.passes:  # the first token waits for no compiler
                    self.native = find_native(thinker_of(self.model), self.cache, config)
                tokens = self._round(config, left, generator)
        finally:  # a reply may end before the last token that was checked
            self.cache.truncate(len(self.ids))

    @torch.inference_mode()
    def _round(self, config: GenerateConfig, left: int, generator: torch.Generator) -> list[int]:
        """One pass of the model over the last token and the guesses -> tokens that stand."""
        timing, start = self.timing, perf_counter()
        count = min(self._guesses(), left - 1)
        drafted, q = self.draft.propose(self.ids, count, config, generator)
        logits, likeliest, seconds = self._check(self.ids[self.cache.length :] + drafted)
        timing.head += seconds
        timing.model += perf_counter() - start - seconds
        with timing.measure("sampling"):
            logits, likeliest = logits[-len(drafted) - 1 :], likeliest[-len(drafted) - 1 :]
            if likeliest and likeliest_is_chosen(likeliest, config):
                tokens = likeliest[: 1 + agreement(drafted, likeliest)]
            else:
                contexts = [self.ids + drafted[:i] for i in range(len(drafted) + 1)]
                p = distribution(logits, config, first_seen(contexts, logits, config))
                tokens = accept(drafted, q, p, generator)
        self.cache.truncate(len(self.ids) + len(tokens) - 1)  # the wrong guesses are forgotten
        self.passes += 1
        self._judge(len(drafted), len(tokens) - 1)
        return tokens

    def _check(self, new: list[int]) -> tuple[Tensor, list[int], float]:
        """Run tokens into the cache -> logits (T, V), the likeliest next of each, seconds of both.

        Only compiled code says which are the likeliest: PyTorch leaves that empty.
        """
        if self.native is not None:
            logits, likeliest, seconds = self.native(new, every=len(new) > 1)
            return logits.flatten(0, -2), likeliest, seconds
        thinker = thinker_of(self.model)
        ids = torch.tensor([new], device=next(thinker.parameters()).device)  # (1, T)
        hidden = thinker.hidden(thinker.embed(ids), cache=self.cache)  # (1, T, D)
        start = perf_counter()
        return thinker.logits(hidden[0]), [], perf_counter() - start

    def _guesses(self) -> int:
        """How many to ask for: none once the draft has proved useless for this reply."""
        tried = self.guessed >= self.speculative.trial
        return 0 if tried and self.acceptance_rate < self.speculative.min_acceptance else self.k

    def _judge(self, guessed: int, right: int) -> None:
        self.guessed += guessed
        self.right += right
        if self.speculative.adaptive and guessed:
            longest = min(self.k + 1, self.speculative.max_k)
            self.k = longest if right == guessed else max(1, right)
