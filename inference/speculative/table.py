"""Draft table: which token mostly followed the same last few in other answers.

A table and no network, so a guess costs microseconds. It sees neither picture nor sound: it is good
at how answers are put, and knows nothing of what they say. `export/draft_table.py` counts it, and
speculative decoding checks what it guesses (inference/speculative/draft.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from models.files import reading, replacing

ORDER = 5  # tokens of context, at most
SURE = 0.4  # share of a context's continuations: less likely ones are not worth checking
SEEN = 2  # times: a context met once says little


class DraftTable:
    """Contexts of 1 to `ORDER` tokens, each with the token that mostly follows."""

    def __init__(self, tables: list[dict[tuple[int, ...], int]]) -> None:
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
        return cls([dict(filter(None, map(_settled, table.items()))) for table in counts])

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
        for n in range(len(known), 0, -1):
            token = self.tables[n - 1].get(tuple(known[-n:]))
            if token is not None:
                return token
        return None

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: `contexts_n` (N, n) and `next_n` (N,) int32."""
        tensors = {}
        for n, table in enumerate(self.tables, 1):
            contexts = torch.tensor(list(table), dtype=torch.int32).view(-1, n)  # (N, n)
            tensors[f"contexts_{n}"] = contexts.contiguous()
            tensors[f"next_{n}"] = torch.tensor(list(table.values()), dtype=torch.int32)  # (N,)
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
    """The context with what mostly follows it, if anything does."""
    context, after = item
    token, times = after.most_common(1)[0]
    total = after.total()
    return (context, token) if total >= SEEN and times >= SURE * total else None
