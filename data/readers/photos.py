"""Photographs on disk: the manifest's `.npz` files of encoded pictures with one label each.

A picture belongs to train, dev or test by a hash of its bytes, so that copies of it stay together.
A missing set is left out with a notice; what is there and is no such file is a UserError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from data.readers import there
from data.splits import slot
from models.errors import UserError

FILES = {
    "cifar10": "cifar10/train15k.npz",
    "cifar100": "cifar100/train.npz",
    "clothing_cc0": "clothing_cc0/train.npz",
}


@dataclass(frozen=True)
class Photo:
    """One photograph: its file's bytes, what it shows ("palm tree"), and the set it is from."""

    encoded: bytes
    name: str
    corpus: str


def photo_split(encoded: bytes) -> str:
    """train (88 %), dev (4 %) or test (8 %), by a stable hash of the picture's bytes."""
    place = slot(encoded)
    return "test" if place < 8 else "dev" if place < 12 else "train"


@lru_cache(maxsize=len(FILES))
def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in ("blob", "offsets", "label", "names")}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"cannot read photographs from {path}: {error}") from None


def present(real: Path | None) -> list[str]:
    """The sets that are there; a notice names those that are not."""
    if real is None:
        return []
    return there({name: real / file for name, file in FILES.items()})


def names(real: Path, corpus: str) -> list[str]:
    """What the photographs of a set may show, in the order of its labels."""
    return [str(name).replace("_", " ") for name in _read(real / FILES[corpus])["names"]]


def photos(real: Path, corpus: str, split: str) -> Iterator[Photo]:
    """The photographs of a split in the order of the file."""
    file, known = _read(real / FILES[corpus]), names(real, corpus)
    bounds = zip(file["offsets"][:-1], file["offsets"][1:], file["label"], strict=True)
    for start, end, label in bounds:
        encoded = file["blob"][start:end].tobytes()
        if photo_split(encoded) == split:
            yield Photo(encoded, known[label], corpus)
