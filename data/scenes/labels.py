"""What stands in each cell of the 7 × 7 grid that a vision encoder's tokens stand for."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image

from data.scenes.objects import COLORS, EMOJI_KINDS, SHAPE_KINDS, WORDS
from data.scenes.scene import SIZE, SIZE_WORDS, Thing
from data.scenes.sights import CELL, GRID, cell_at

COVERED = 0.18  # share of a cell an object must cover to own it


def label_vocab() -> dict[str, list[str]]:
    """Meaning of every cell label, by plane; index 0 always means none."""
    digits = ["", *"0123456789"]
    return {
        "object": ["", *(k.name for k in SHAPE_KINDS + EMOJI_KINDS), "sign"],
        "color": ["", *COLORS],
        "size": ["", *SIZE_WORDS],
        "sign": ["", *WORDS, "<number>"],
        "digit_hundreds": digits,
        "digit_tens": digits,
        "digit_ones": digits,
        "centre": ["", "centre"],
    }


PLANES = tuple(label_vocab())


@cache
def _label_index() -> dict[str, dict[str, int]]:
    return {
        plane: {name: i for i, name in enumerate(names)} for plane, names in label_vocab().items()
    }


def thing_labels(thing: Thing) -> list[int]:
    """The label of every plane for a cell this thing owns (centre not set)."""
    index = _label_index()
    labels = [
        index["object"][thing.name],
        index["color"][thing.color],
        0 if thing.kind == "sign" else index["size"][thing.size],
        *[0] * 5,
    ]
    if thing.text.isdigit():
        labels[3] = index["sign"]["<number>"]
        for place, digit in enumerate(reversed(thing.text)):
            labels[6 - place] = int(digit) + 1
    elif thing.text:
        labels[3] = index["sign"][thing.text.lower()]
    return labels


class CellLabels:
    """Labels of a picture, filled in as things are drawn. `cells`: int16 (planes, 7, 7)"""

    def __init__(self) -> None:
        self.cells = np.zeros((len(PLANES), GRID, GRID), np.int16)
        self.best = np.full((GRID, GRID), COVERED, np.float32)

    def add(self, thing: Thing, alpha: Image.Image, at: tuple[int, int]) -> None:
        """A thing covers cells by its ink; of two the one that covers more has a cell."""
        canvas = Image.new("L", (SIZE, SIZE))
        box = (*at, at[0] + alpha.width, at[1] + alpha.height)
        canvas.paste(255 if thing.kind == "sign" else alpha, box)
        share = np.asarray(canvas.reduce(CELL), np.float32) / 255  # (7, 7)
        owned = share > self.best
        self.best = np.maximum(self.best, share)
        self.cells[:, owned] = np.array(thing_labels(thing), np.int16)[:, None]

    def centre(self, things: list[Thing]) -> np.ndarray:
        """After all: the cell of a centre belongs to its thing."""
        for thing in things:
            row, column = cell_at(thing.x, thing.y)
            self.cells[:, row, column] = thing_labels(thing)
            self.cells[PLANES.index("centre"), row, column] = 1
        return self.cells
