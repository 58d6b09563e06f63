"""95 % intervals: Wilson's for rates, bootstrap over items for ratios; drawn with a fixed seed."""

from __future__ import annotations

import math

import numpy as np

Z = 1.959964  # of a 95 % interval of the normal distribution
DRAWS = 2000  # bootstrap samples


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Interval of a rate of independent successes."""
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes of {n}")
    p = successes / n
    middle = p + Z * Z / (2 * n)
    spread = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def bootstrap(above: list[float], below: list[float], seed: int = 0) -> tuple[float, float]:
    """Interval of sum(above) / sum(below), items drawn together with replacement.

    With `above` the errors and `below` the words of each utterance this is the interval of a word
    error rate over utterances; with ones below, of a mean.
    """
    a, b = np.asarray(above, float), np.asarray(below, float)  # (n,) each
    if len(a) != len(b) or not len(a) or b.sum() <= 0:
        raise ValueError(f"{len(a)} numerators, {len(b)} denominators, sum {b.sum()}")
    picks = np.random.default_rng(seed).integers(0, len(a), (DRAWS, len(a)))  # (DRAWS, n)
    totals = b[picks].sum(1)  # (DRAWS,)
    ratios = a[picks].sum(1)[totals > 0] / totals[totals > 0]
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(low), float(high)
