"""Drafts: cheap guesses of the next tokens, for inference.speculative to check.

`PromptLookup` copies from the context and needs no model; `NgramDraft` looks into a table counted
from other answers; `ThinkerDraft` asks a smaller Thinker.
None of them can change what is answered, only how fast.
"""

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.sampling import adjust, draw, first_seen, greedy
from inference.speculative.table import STOP, DraftTable
from models.errors import UserError
from models.thinker import Thinker

LONGEST_MATCH, SHORTEST_MATCH = 4, 2  # tokens; one alone is matched by chance too often


def distribution(logits: Tensor, config: GenerateConfig, seen: Tensor | None = None) -> Tensor:
    """Probabilities (B, V) of the next token under these settings; all on one at temperature 0."""
    logits = adjust(logits, config, seen)
    if config.temperature > 0.0:
        return logits.softmax(dim=-1)
    return torch.zeros_like(logits).scatter_(-1, greedy(logits)[:, None], 1.0)


class PromptLookup:
    """What followed the same few tokens earlier in the context: answers repeat their question."""

    def propose(
        self, context: list[int], count: int, config: GenerateConfig, generator: torch.Generator
    ) -> tuple[list[int], Tensor | None]:
        """At most `count` tokens. No probabilities: it is sure of each."""
        if not context:
            return [], None
        ends = [i for i in range(len(context) - 2, -1, -1) if context[i] == context[-1]]
        for size in range(LONGEST_MATCH, SHORTEST_MATCH - 1, -1):
            for i in ends:  # the latest first
                if i + 1 >= size and context[i + 1 - size : i + 1] == context[-size:]:
                    return context[i + 1 : i + 1 + count], None
        return [], None


class NgramDraft:
    """What mostly follows the last few tokens in other answers, else what followed them in this context."""

    def __init__(self, table: DraftTable) -> None:
        self.table = table
        self.lookup = PromptLookup()
        ids = [0, *(token for one in table.tables for token in one.values())]
        self.least, self.largest = min(ids), max(ids)

    def check(self, target: Thinker) -> None:
        """Refuse a table whose ids the model does not have."""
        if self.largest >= target.config.vocab_size or self.least < STOP:
            raise UserError("the table of guesses was counted with another tokenizer: count one for this")

    def propose(
        self, context: list[int], count: int, config: GenerateConfig, generator: torch.Generator
    ) -> tuple[list[int], Tensor | None]:
        """At most `count` tokens. No probabilities: it is sure of each."""
        if guesses := self.table.guess(context, count):
            return guesses, None
        return self.lookup.propose(context, count, config, generator)


class ThinkerDraft:
    """A smaller Thinker of the same vocabulary; of pictures and sounds it sees placeholders."""

    def __init__(self, thinker: Thinker) -> None:
        self.thinker = thinker
        self.cache = thinker.new_cache(1)
        self.ids: list[int] = []  # those in the cache

    def check(self, target: Thinker) -> None:
        """Refuse a draft whose ids mean something else."""
        own, other = self.thinker.config.vocab_size, target.config.vocab_size
        if own != other:
            raise UserError(
                f"the draft has {own} token ids, the model {other}: they cannot be paired"
            )

    @torch.inference_mode()
    def propose(
        self, context: list[int], count: int, config: GenerateConfig, generator: torch.Generator
    ) -> tuple[list[int], Tensor | None]:
        """`count` tokens, and the distributions (count, V) they were drawn from."""
        if len(context) + count > self.cache.max_len:
            return [], None  # its context is shorter than the target's
        drafted, all_q = [], []
        for _ in range(count):
            logits = self._logits(context + drafted)  # (1, V)
            seen = first_seen([context + drafted], logits, config)
            q = distribution(logits, config, seen)  # (1, V)
            drafted.append(int(draw(q.log(), [generator])))
            all_q.append(q)
        return drafted, torch.cat(all_q) if all_q else None

    def _logits(self, context: list[int]) -> Tensor:
        """What follows the context (1, V), running only what the cache does not hold."""
        same = 0
        while same < min(len(self.ids), len(context) - 1) and self.ids[same] == context[same]:
            same += 1
        self.cache.truncate(same)
        device = self.thinker.model.embed_tokens.weight.device
        new = torch.tensor([context[same:]], device=device)  # (1, T)
        self.ids = list(context)
        hidden = self.thinker.hidden(self.thinker.embed(new), cache=self.cache)
        return self.thinker.logits(hidden[:, -1])
