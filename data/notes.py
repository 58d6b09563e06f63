"""Notes: what the model writes down of a picture before it answers questions about it.

A question such as "How many?" wants everything found, told apart and counted within one word. Notes
do it one thing at a time: each thing in reading order with its number among its like, then the sum.
Answers are then looked up in words that the model itself wrote (docs/decisions.md).

Paper: Wei et al., Chain-of-thought prompting, arXiv:2201.11903; here of what is seen.
"""

from __future__ import annotations

from collections import Counter

from data.captions import background_phrase, list_phrase, noun
from data.objects import count_word
from data.render import cell_of
from data.scene import SIZE, Scene, Thing

ROWS, COLUMNS = ("top", "", "bottom"), ("left", "", "right")


def reading_order(scene: Scene) -> list[Thing]:
    """Things by the cell of their centre, row by row, as the eyes' tokens come."""
    return sorted(scene.things, key=lambda thing: (*cell_of(thing), thing.x))


def third_of(thing: Thing) -> str:
    """"top left" to "bottom right", also where a question would find the place borderline."""
    row, column = (min(2, max(0, int(3 * at / SIZE))) for at in (thing.y, thing.x))
    return f"{ROWS[row]} {COLUMNS[column]}".strip() or "middle"


def described(thing: Thing) -> str:
    """"small red circle", "large dog", "sign that says stop"."""
    return noun(thing) if thing.kind == "sign" else f"{thing.size} {noun(thing)}"


def scene_notes(scene: Scene) -> str:
    """"On a white background: small red circle one top left, … So: two red circles and a dog." """
    seen: Counter = Counter()
    items = []
    for thing in reading_order(scene):
        seen[thing.key] += 1
        items.append(f"{described(thing)} {count_word(seen[thing.key])} {third_of(thing)}")
    return f"On {background_phrase(scene)}: {', '.join(items)}. So: {list_phrase(scene)}."


def clip_notes(frames: list[Scene]) -> str:
    """Frame by frame, each thing with its row and column: what changes then differs in words."""
    told = []
    for frame in frames:
        items = []
        for thing in reading_order(frame):
            row, column = (count_word(place + 1) for place in cell_of(thing))
            items.append(f"{described(thing)} {row} {column}")
        told.append(", ".join(items) or "nothing")
    return f"Frames: {'; '.join(told)}."
