"""Things of a scene as the chain of thought tells them, in the order of the image tokens.

A question such as "How many?" wants everything found, told apart and counted within one word. Thinking
does it one thing at a time: each thing in reading order with its number among its like, then the sum.
Answers are then looked up in words that stand in the context (docs/decisions.md).

Paper: Wei et al., Chain-of-thought prompting, arXiv:2201.11903.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from data.english import article, count_word, joined
from models.image import IMAGE_SIZE

ROWS, COLUMNS = ("top", "", "bottom"), ("left", "", "right")
GRID = 7  # grid tokens a side
COLUMN_LETTERS = "ABCDEFG"
CELL = IMAGE_SIZE // GRID  # pixels a side of what a token stands for


def cell_at(x: float, y: float) -> tuple[int, int]:
    """Row and column of the token that stands for a place in pixels, from the top left."""
    return tuple(min(GRID - 1, max(0, int(at // CELL))) for at in (y, x))


@dataclass(frozen=True)
class Sight:
    """One thing as the chain of thought tells it."""

    one: str  # "red circle", "dog", "sign that says stop": things of one name are counted together
    many: str  # "red circles"
    size: str  # "tiny" to "huge"; "" of a sign
    x: float  # its centre, pixels of the 224² picture
    y: float

    @property
    def cell(self) -> tuple[int, int]:
        """Row and column of the token that holds its centre, from the top left."""
        return cell_at(self.x, self.y)

    @property
    def address(self) -> str:
        """The same token as in a spreadsheet: "D6" is the fourth column of the sixth row."""
        row, column = self.cell
        return f"{COLUMN_LETTERS[column]}{row + 1}"

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
    """By the cell of the centre, row by row, as the image tokens come."""
    return sorted(sights, key=lambda sight: (*sight.cell, sight.x))


def image_thinking(background: str, sights: list[Sight]) -> str:
    """"On a white background: B2 small red circle one top left, … So: two red circles and a dog."

    Args:
        background: "a striped blue background".
    """
    if not sights:
        return f"On {background}: nothing."
    seen: Counter = Counter()
    items = []
    for sight in reading_order(sights):
        seen[sight.one] += 1
        number = count_word(seen[sight.one])
        items.append(f"{sight.address} {sight.described} {number} {sight.third}")
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


def track_thinking(tracks: list[list[Sight | None]]) -> str:
    """Of a clip: each thing with its place in each frame, then the next thing.

    "small car B6, C6, E6, F6; large tree D2, …". A size or a name is told again where it changes, and
    what is not in a frame is gone there: movement, growth, appearing and turning to another colour all
    differ in words.
    """
    return "; ".join(map(_track, tracks))


def _track(track: list[Sight | None]) -> str:
    first = next(sight for sight in track if sight is not None)
    one, size, told = "" if track[0] else first.one, "", []
    for sight in track:
        if sight is None:
            told.append("gone")
            continue
        new = [sight.size if sight.size != size else "", sight.one if sight.one != one else ""]
        told.append(" ".join(word for word in (*new, sight.address) if word))
        one, size = sight.one, sight.size
    return ", ".join(told) if track[0] else f"{first.one} {', '.join(told)}"
