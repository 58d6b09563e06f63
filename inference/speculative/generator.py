"""Speculative decoding: a draft guesses several tokens, the model checks them in one pass.

What comes out has exactly the model's own distribution, whatever the draft: rejection sampling,
arXiv:2211.17192. Where guesses come from is inference.speculative.draft's business.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from inference.api import Generator
from inference.beams import beams_for
from inference.config import GenerateConfig
from inference.generation import check_fits
from inference.notice import notice
from inference.prompt import Prompt
from inference.sampling import draw, first_seen, likeliest_is_chosen, make_generators
from inference.speculative.config import MAX_K, TRIAL, SpeculativeConfig, speculative
from inference.speculative.draft import NgramDraft, PromptLookup, ThinkerDraft, distribution
from inference.speculative.table import SHIPPED, DraftTable
from inference.stopping import StopWatch
from models.errors import UserError
from models.omni import thinker_of
from models.thinker import Thinker

DEFAULT = SpeculativeConfig()


def accept(
    drafted: list[int],
    q: Tensor | None,
    p: Tensor,
    generator: torch.Generator,
    method: str = "reject_sampling",
) -> list[int]:
    """The guesses that stand, and one token more that the model chose itself.

    Args:
        drafted: k token ids.
        q: (k, V) distributions they were drawn from; None: each was certain.
        p: (k + 1, V) the model's distributions in the same places and after them.
        method: reject_sampling, or exact_match: the model draws, and equal guesses stand.
    """
    if method == "exact_match":
        return accept_equal(drafted, p, generator)
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


def accept_equal(drafted: list[int], p: Tensor, generator: torch.Generator) -> list[int]:
    """What the model draws for itself, as long as the guesses are the same, and one token more."""
    chosen: list[int] = []
    for i, row in enumerate(p):
        chosen.append(int(draw(row.log()[None], [generator])))
        if i == len(drafted) or chosen[-1] != drafted[i]:
            break
    return chosen


def agreement(drafted: list[int], likeliest: list[int]) -> int:
    """How many guesses stand where the likeliest token is always taken."""
    right = 0
    while right < len(drafted) and drafted[right] == likeliest[right]:
        right += 1
    return right


def check_routing(thinker: Thinker) -> None:
    """Refuse a memory bank that routes on several positions: wrong guesses would be among them."""
    if any(strategy.keeps_history for strategy in getattr(thinker, "strategies", ())):
        raise UserError("a draft and this memory bank would change answers: use --routing_strategy token")


class SpeculativeGenerator(Generator):
    """A `Generator` that takes several tokens a step where the draft guesses well."""

    def __init__(
        self,
        target_model,
        draft_model: "PromptLookup | NgramDraft | ThinkerDraft | Thinker",
        config: GenerateConfig = DEFAULT,
        reserve: int | None = None,
        tokenizer=None,
        device=None,
    ) -> None:
        """`config` may be a plain GenerateConfig; `draft_model` a draft, or a smaller model itself."""
        config = speculative(config, DEFAULT)
        check_routing(thinker_of(target_model))
        super().__init__(target_model, config, reserve, tokenizer, device)
        config = self.config
        model = thinker_of(draft_model)
        draft = ThinkerDraft(model.to(device)) if isinstance(model, Thinker) else draft_model
        if isinstance(draft, ThinkerDraft | NgramDraft):
            draft.check(thinker_of(target_model))
        self.draft = draft
        self.guessed = self.right = self.passes = 0  # of the latest call
        self.k = config.spec_k

    @property
    def acceptance_rate(self) -> float:
        """Share of guesses that stood, in the latest call."""
        return self.right / self.guessed if self.guessed else 0.0

    def stream(self, prompt: Prompt, config: GenerateConfig | None = None) -> Iterator[int]:
        """As `Generator.stream`, with the same tokens in greedy mode."""
        config = speculative(config or self.config, self.config)
        self.guessed = self.right = self.passes = 0
        if beams_for(config, prompt) > 1:  # several answers are followed: there is no one to guess
            yield from super().stream(prompt, config)
            return
        check_fits(prompt, self.capacity - self.position)
        watch = StopWatch(config.stop_strings, self.tokenizer)
        self.k = config.spec_k
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
                if not self.passes:  # the first token waits for no compiler
                    self.run.compile()
                tokens = self._round(config, left, generator)
        finally:  # a reply may end before the last token that was checked
            self.cache.truncate(len(self.ids))

    @torch.inference_mode()
    def _round(self, config: GenerateConfig, left: int, generator: torch.Generator) -> list[int]:
        """One pass of the model over the last token and the guesses -> tokens that stand."""
        timing, start = self.timing, perf_counter()
        count = min(self._guesses(config), left - 1)
        while count and self.cache.window(1) != self.cache.window(1 + count):
            count -= 1  # all positions of a pass look through one window
        drafted, q = self.draft.propose(self.ids, count, config, generator)
        new = self.ids[self.cache.length :] + drafted
        logits, likeliest, head = self.run(new, every=True)  # (1, T, V)
        timing.step(perf_counter() - start, head)
        with timing.measure("sampling"):
            logits, likeliest = logits[0, -len(drafted) - 1 :], likeliest[-len(drafted) - 1 :]
            if likeliest and likeliest_is_chosen(likeliest, config):
                tokens = likeliest[: 1 + agreement(drafted, likeliest)]
            else:
                contexts = [self.ids + drafted[:i] for i in range(len(drafted) + 1)]
                p = distribution(logits, config, first_seen(contexts, logits, config))
                tokens = accept(drafted, q, p, generator, config.spec_method)
        self.cache.truncate(len(self.ids) + len(tokens) - 1)  # the wrong guesses are forgotten
        self.passes += 1
        self._judge(config, len(drafted), len(tokens) - 1)
        if config.spec_extra_token or not drafted:
            return tokens
        return self._without_extra(tokens, drafted)

    def _without_extra(self, tokens: list[int], drafted: list[int]) -> list[int]:
        """The guesses alone where all of them stood."""
        if len(tokens) <= len(drafted):
            return tokens
        self.cache.truncate(len(self.ids) + len(drafted) - 1)  # the last one is run again
        return tokens[:-1]

    def _guesses(self, config: SpeculativeConfig) -> int:
        """How many to ask for: none once the draft has proved useless for this reply."""
        useless = self.acceptance_rate < config.spec_disable_below_accept
        return 0 if self.guessed >= TRIAL and useless else self.k

    def _judge(self, config: SpeculativeConfig, guessed: int, right: int) -> None:
        self.guessed += guessed
        self.right += right
        if config.spec_k_adaptive and guessed:
            longest = min(self.k + 1, MAX_K)
            self.k = longest if right == guessed else max(1, right)


def with_draft(model, source: str | Path, **options) -> Callable[..., SpeculativeGenerator]:
    """What makes generators with one draft, as `Omni.use_draft` names it; `options` are `spec_` fields."""
    like = SpeculativeConfig(**options)
    if source == "lookup":
        draft = PromptLookup()
    elif source == "table" or Path(source).suffix == ".safetensors":
        draft = NgramDraft(DraftTable.load(SHIPPED if source == "table" else source))
    else:
        if not Path(source).is_dir():
            raise UserError(
                f"no draft {source}: use table, lookup, a .safetensors table or a Thinker's folder"
            )
        weight = next(model.parameters())
        draft = ThinkerDraft(Thinker.from_pretrained(source).to(weight.device, weight.dtype))
        draft.check(thinker_of(model))

    def make(model, config: GenerateConfig, *more) -> SpeculativeGenerator:
        return SpeculativeGenerator(model, draft, speculative(config, like), *more)

    return make
