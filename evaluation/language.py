"""A trigram language model of given sentences, in the ARPA format that the judge reads.

Absolute discounting, each order interpolated with the one below. Only for the judge: nothing of
μOmni uses it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

DISCOUNT = 0.7
START, END = "<s>", "</s>"
NEVER = -99.0  # log10 probability of the sentence start, which is given and never predicted

Gram = tuple[str, ...]


def arpa(sentences: list[list[str]]) -> str:
    """The text of an ARPA file."""
    counts: list[Counter[Gram]] = [Counter(), Counter(), Counter()]
    for words in sentences:
        row = [START, *words, END]
        for order in range(3):
            grams = (tuple(row[i : i + order + 1]) for i in range(len(row) - order))
            counts[order].update(grams)
    del counts[0][START,]
    probability: dict[Gram, float] = {}
    total = sum(counts[0].values()) + len(counts[0])
    for gram, count in counts[0].items():
        probability[gram] = (count + 1) / total
    backoff: dict[Gram, float] = {}
    for order in (1, 2):
        followers: dict[Gram, Counter] = defaultdict(Counter)
        for gram, count in counts[order].items():
            followers[gram[:-1]][gram[-1]] = count
        for context, after in followers.items():
            seen = sum(after.values())
            backoff[context] = DISCOUNT * len(after) / seen
            for word, count in after.items():
                below = probability[(*context[1:], word)]
                probability[*context, word] = (count - DISCOUNT) / seen + backoff[context] * below
    return _format(counts, probability, backoff)


def _format(
    counts: list[Counter[Gram]], probability: dict[Gram, float], backoff: dict[Gram, float]
) -> str:
    sizes = [len(counts[0]) + 1, len(counts[1]), len(counts[2])]
    lines = ["\\data\\", *(f"ngram {n + 1}={size}" for n, size in enumerate(sizes))]
    for order, grams in enumerate(counts):
        lines += ["", f"\\{order + 1}-grams:"]
        if order == 0:
            lines.append(f"{NEVER:.4f} {START} {math.log10(backoff[START,]):.4f}")
        for gram in sorted(grams):
            weight = f" {math.log10(backoff[gram]):.4f}" if gram in backoff else ""
            lines.append(f"{math.log10(probability[gram]):.4f} {' '.join(gram)}{weight}")
    return "\n".join([*lines, "", "\\end\\", ""])
