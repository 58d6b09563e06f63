"""Small photographs in batches, each with its name, augmented anew each time.

Photographs of several sets come in fixed shares of each batch, with drawn scenes and plain colours
among them, whose name is DRAWING: of those the whole tells nothing. Some photographs lie on another
ground, as in a screenshot, or cut out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from data.readers.cutouts import cut_out
from data.shards import ShardReader
from models.errors import UserError
from models.resnet import SIDE, shrink
from training.distort import distorted, draw
from training.media import picture
from training.objective import epoch_order

DRAWING = "drawing"  # name of what is no photograph, and of its share
PLAIN = 0.1  # of the scenes' number: pictures of one colour
PLACED = 0.3  # of the photographs are put on another ground
PLACED_SIDE = (0.4, 1.0)  # of the picture's side, how long such a photograph's longer side is
PATCHES = (1, 1, 2, 7, 16)  # a side, each a mixture of two colours, that make the ground

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
            rng = np.random.default_rng([self.seed, step, place])
            draws.append(draw(rng, SIDE))
            moved = source != DRAWING and rng.random() < PLACED
            small.append(placed(pictures[i], rng) if moved else pictures[i])
            name.append(names[i])
        return {"small": distorted(np.stack(small), draws), "name": torch.tensor(name)}


def placed(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A photograph smaller, somewhere on another ground; cut out where its own is even.

    uint8 (3, side, side) -> the same
    """
    side, photo = picture.shape[1], Image.fromarray(picture.transpose(1, 2, 0))
    shown = cut_out(photo) or photo.convert("RGBA")
    scale = rng.uniform(*PLACED_SIDE) * side / max(shown.size)
    width, height = (max(1, round(n * scale)) for n in shown.size)
    shown = shown.resize((width, height))
    first, second = rng.integers(0, 256, (2, 3))
    mix = rng.random((rng.choice(PATCHES),) * 2 + (1,))  # (n, n, 1)
    ground = Image.fromarray((first + (second - first) * mix).astype(np.uint8)).resize((side, side))
    at = (int(rng.integers(side - width + 1)), int(rng.integers(side - height + 1)))
    ground.paste(shown, at, shown)
    return np.asarray(ground).transpose(2, 0, 1)


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
        if _is_cut_out(drawn.record(i)["scene"]):
            continue
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


def _is_cut_out(scene: dict) -> bool:
    """Whether a scene's only thing is cut out of a photograph: then the whole may tell its name."""
    return [thing["drawing"]["style"] for thing in scene["things"]] == ["photo"]
