"""Notes: what is written down of a picture before questions about it are answered.

A question such as "How many?" wants everything found, told apart and counted within one word. Notes
do it one thing at a time: each thing in reading order with its number among its like, then the sum.
Answers are then looked up in words that stand in the context (docs/decisions.md). Lessons note what
a scene is made of (data/scenes/notes.py); at use, what the eyes have found (models/finder.py).

Paper: Wei et al., Chain-of-thought prompting, arXiv:2201.11903; here of what is seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from models.english import article, count_word, joined
from models.vision import IMAGE_SIZE, IMAGE_TOKENS

ROWS, COLUMNS = ("top", "", "bottom"), ("left", "", "right")
GRID = round(IMAGE_TOKENS**0.5)  # tokens a side
CELL = IMAGE_SIZE // GRID  # pixels a side of what a token stands for


@dataclass(frozen=True)
class Sight:
    """One thing as notes tell it."""

    one: str  # "red circle", "dog", "sign that says stop": things of one name are counted together
    many: str  # "red circles"
    size: str  # "small", "large"; "" of a sign
    x: float  # its centre, pixels of the 224² picture
    y: float

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the token that holds its centre, from the top left."""
        return tuple(min(GRID - 1, max(0, int(at // CELL))) for at in (self.y, self.x))

    @property
    def third(self) -> str:
        """"top left" to "bottom right", also where a question would find the place borderline."""
        row, column = (min(2, max(0, int(3 * at / IMAGE_SIZE))) for at in (self.y, self.x))
        return f"{ROWS[row]} {COLUMNS[column]}".strip() or "middle"

    @property
    def described(self) -> str:
        """"small red circle", "sign that says stop"."""
        return f"{self.size} {self.one}".strip()


def reading_order(sights: list[Sight]) -> list[Sight]:
    """By the cell of the centre, row by row, as the eyes' tokens come."""
    return sorted(sights, key=lambda sight: (*sight.cell, sight.x))


def picture_notes(background: str, sights: list[Sight]) -> str:
    """"On a white background: small red circle one top left, … So: two red circles and a dog."

    Args:
        background: "a striped blue background".
    """
    seen: Counter = Counter()
    items = []
    for sight in reading_order(sights):
        seen[sight.one] += 1
        items.append(f"{sight.described} {count_word(seen[sight.one])} {sight.third}")
    return f"On {background}: {', '.join(items)}. So: {total(sights)}."


def total(sights: list[Sight]) -> str:
    """'a dog, a red circle and three apples': groups from left to right by their mean place."""
    groups: dict[str, list[Sight]] = {}
    for sight in sights:
        groups.setdefault(sight.one, []).append(sight)
    ordered = sorted(groups.values(), key=lambda group: sum(s.x for s in group) / len(group))
    return joined(
        [
            article(group[0].one) if len(group) == 1 else f"{count_word(len(group))} {group[0].many}"
            for group in ordered
        ]
    )


def film_notes(frames: list[list[Sight]]) -> str:
    """Frame by frame, each thing with its row and column: what changes then differs in words."""
    told = []
    for sights in frames:
        items = []
        for sight in reading_order(sights):
            row, column = (count_word(place + 1) for place in sight.cell)
            items.append(f"{sight.described} {row} {column}")
        told.append(", ".join(items) or "nothing")
    return f"Frames: {'; '.join(told)}."
