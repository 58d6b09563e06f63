"""Draft table: which token mostly followed the same last few in other answers.

A table and no network, so a guess costs microseconds. It sees neither picture nor sound: it is good
at how answers are put, and knows nothing of what they say. `export/draft_table.py` counts it, and
speculative decoding checks what it guesses (inference/speculative/draft.py). The one that ships stands
beside this file, `SHIPPED`; it fits the tokenizer of the shipped checkpoints alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from models.files import reading, replacing

SHIPPED = Path(__file__).with_name("draft_table.safetensors")
ORDER = 9  # tokens of context, at most
SURE = 0.6  # share of a context's continuations: less likely ones are not worth checking
SEEN = 2  # times: a context met once says little
STOP = -1  # in place of a token: anything may follow
Table = dict[tuple[int, ...], int]


class DraftTable:
    """Contexts of 1 to `ORDER` tokens, each with the token that mostly follows, or STOP.

    A context that says the same as its shorter one is left out.
    """

    def __init__(self, tables: list[Table]) -> None:
        self.tables = tables  # [n - 1]: contexts of n tokens

    @classmethod
    def count(cls, sequences: Iterable[tuple[list[int], list[int]]]) -> DraftTable:
        """From (ids, mask) of texts; only tokens whose mask is 1 are ever guessed."""
        counts: list[dict[tuple[int, ...], Counter]] = [defaultdict(Counter) for _ in range(ORDER)]
        for ids, mask in sequences:
            for end in range(1, len(ids)):
                if mask[end]:
                    for n in range(1, min(ORDER, end) + 1):
                        counts[n - 1][tuple(ids[end - n : end])][ids[end]] += 1
        tables = [dict(filter(None, map(_settled, table.items()))) for table in counts]
        return cls(_without_repeats(tables))

    def guess(self, context: list[int], count: int) -> list[int]:
        """At most `count` tokens, as long as it is sure."""
        known = list(context[-ORDER:])
        drafted: list[int] = []
        while len(drafted) < count and (token := self._next(known)) is not None:
            drafted.append(token)
            known = [*known, token][-ORDER:]
        return drafted

    def _next(self, known: list[int]) -> int | None:
        """After the longest context that the table has."""
        token = _longest(self.tables, tuple(known))
        return None if token == STOP else token

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: `contexts_n` (N, n) and `next_n` (N,) int16."""
        tensors = {}
        for n, table in enumerate(self.tables, 1):
            contexts = torch.tensor(list(table), dtype=torch.int16).view(-1, n)  # (N, n)
            tensors[f"contexts_{n}"] = contexts.contiguous()
            tensors[f"next_{n}"] = torch.tensor(list(table.values()), dtype=torch.int16)  # (N,)
        with replacing(Path(path)) as temporary:
            save_file(tensors, temporary)

    @classmethod
    def load(cls, path: str | Path) -> DraftTable:
        """Read what `save` wrote.

        Raises:
            UserError: no such file, or another one.
        """
        with reading(path, "a table of guesses", "python -m export.draft_table"):
            tensors = load_file(path)
            pairs = [(tensors[f"contexts_{n}"], tensors[f"next_{n}"]) for n in range(1, ORDER + 1)]
        return cls(
            [dict(zip(map(tuple, c.tolist()), t.tolist(), strict=True)) for c, t in pairs]
        )


def _settled(item: tuple[tuple[int, ...], Counter]) -> tuple[tuple[int, ...], int] | None:
    """The context with what mostly follows it, STOP if nothing does, None if it is rare."""
    context, after = item
    token, times = after.most_common(1)[0]
    total = after.total()
    if total < SEEN:
        return None
    return context, token if times >= SURE * total else STOP


def _longest(tables: list[Table], context: tuple[int, ...]) -> int | None:
    """What the longest known end of a context says."""
    for n in range(min(len(context), len(tables)), 0, -1):
        token = tables[n - 1].get(context[-n:])
        if token is not None:
            return token
    return None


def _without_repeats(tables: list[Table]) -> list[Table]:
    """Contexts that say something else than their shorter ones."""
    return [
        {context: token for context, token in table.items() if _longest(tables[:n], context) != token}
        for n, table in enumerate(tables)
    ]
