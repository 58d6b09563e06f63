"""Small photographs in batches, each with its name, augmented anew each time.

Photographs of several sets come in fixed shares of each batch, with drawn scenes and plain colours
among them, whose name is DRAWING: of those the whole tells nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from data.shards import ShardReader
from models.errors import UserError
from models.resnet import SIDE, shrink
from training.distort import distorted, draw
from training.media import picture
from training.objective import epoch_order

DRAWING = "drawing"  # name of what is no photograph, and of its share
PLAIN = 0.1  # of the scenes' number: pictures of one colour

Pictures = tuple[np.ndarray, np.ndarray]  # uint8 (n, 3, 32, 32), places of their names (n,)


class PhotoBatches:
    """Batches of `size` pictures of a split, a pure function of seed, step and place.

    Args:
        shares: how many pictures of each set are in the pattern that a batch repeats.
        scenes: how many scenes are read.
    """

    def __init__(self, data: Path, shares: dict[str, int], scenes: int, size: int, seed: int) -> None:
        self.sets, self.names = load(data, "train", scenes, [])
        if unknown := set(self.sets) - set(shares):
            raise UserError(f"vision.data.photo_shares does not say how often {sorted(unknown)} come")
        self.shares = {name: share for name, share in shares.items() if name in self.sets}
        self.pattern = [(name, i) for name, share in self.shares.items() for i in range(share)]
        self.size, self.seed = size, seed

    def items(self, step: int, places: range) -> list[tuple[str, int]]:
        """(set, index) of those places of a global batch; each set is gone through epoch by epoch."""
        chosen = []
        for place in places:
            turn, at = divmod(place + step * self.size, len(self.pattern))
            name, rank = self.pattern[at]
            count = len(self.sets[name][1])
            epoch, at = divmod(turn * self.shares[name] + rank, count)
            chosen.append((name, int(epoch_order(self.seed, epoch, count)[at])))
        return chosen

    def batch(self, step: int, places: range) -> dict[str, Tensor]:
        """small float (B, 3, 32, 32) in 0..255, name (B,)"""
        small, name, draws = [], [], []
        for place, (source, i) in zip(places, self.items(step, places), strict=True):
            pictures, names = self.sets[source]
            small.append(pictures[i])
            name.append(names[i])
            draws.append(draw(np.random.default_rng([self.seed, step, place]), SIDE))
        return {"small": distorted(np.stack(small), draws), "name": torch.tensor(name)}


def load(data: Path, split: str, scenes: int, known: list[str]) -> tuple[dict[str, Pictures], list[str]]:
    """Small pictures by set with their names' places, and the names, DRAWING the first.

    Args:
        scenes: at most so many.
        known: the names, when they are settled already; photographs of others are left out.
    """
    shards = ShardReader(data / f"photos_{split}")
    records = [shards[i] for i in range(len(shards))]
    known = known or [DRAWING, *sorted({record["name"] for record in records})]
    sets: dict[str, list] = {}
    for record in records:
        if record["name"] in known:  # of few photographs to learn from, some names are not among them
            found = record["small"], known.index(record["name"])
            sets.setdefault(record["corpus"], []).append(found)
    drawn = ShardReader(data / f"scenes_{split}")
    for i in range(min(scenes, len(drawn))):
        small = shrink(picture(drawn[i]["image"])[None])[0].round().byte().numpy()
        sets.setdefault(DRAWING, []).append((small, 0))
    rng = np.random.default_rng(len(records))
    for color in rng.integers(0, 256, (round(PLAIN * scenes), 3, 1, 1), dtype=np.uint8):
        sets.setdefault(DRAWING, []).append((np.broadcast_to(color, (3, SIDE, SIDE)), 0))
    stacked = {
        name: (np.stack([small for small, _ in found]), np.array([place for _, place in found]))
        for name, found in sets.items()
    }
    return stacked, known
