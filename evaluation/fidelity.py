"""How close a copy of speech is to the speech: STOI, and PESQ where its package is installed."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec

import numpy as np

from models.errors import needed
from models.mel import SAMPLE_RATE

Waves = list[np.ndarray]


def understood(true: Waves, made: Waves) -> list[float]:
    """STOI of each pair: 0..1, how much of it is understood."""
    stoi = needed("pystoi", "STOI", "-r requirements-dev.txt").stoi
    return [float(stoi(a, b, SAMPLE_RATE)) for a, b in zip(true, made, strict=True)]


@cache
def has_pesq() -> bool:
    """Whether PESQ can be measured; says so once where it cannot."""
    found = find_spec("pesq") is not None
    if not found:
        print("pesq is not installed: its figures are left out (pip install pesq)", file=sys.stderr)
    return found


def liked(true: Waves, made: Waves) -> list[float] | None:
    """Wide-band PESQ of each pair: 1..4.6, how good it sounds; None without the package."""
    if not has_pesq():
        return None
    from pesq import PesqError, pesq

    pairs = zip(true, made, strict=True)
    scores = [pesq(SAMPLE_RATE, a, b, "wb", on_error=PesqError.RETURN_VALUES) for a, b in pairs]
    return [float(score) for score in scores if score > 0]  # -1: it found no speech to compare
