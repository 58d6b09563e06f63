"""The things a picture can hold: plain shapes, everyday objects (emoji), signs, and their English.

Owns the vocabularies (names, plurals, categories, colours, sign words) and nothing about where a
thing stands or how it is drawn. Every name is unique, so that a name in an answer means one thing:
that is why there is no orange (a colour), no ring on a finger and no hot dog in this world.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from data.word_lists import read_lists

RGB = tuple[int, int, int]
COLORS: dict[str, RGB] = {
    "red": (222, 38, 38),
    "orange": (250, 135, 20),
    "yellow": (248, 214, 40),
    "green": (45, 165, 70),
    "blue": (40, 92, 220),
    "purple": (132, 55, 180),
    "pink": (250, 130, 185),
    "brown": (128, 78, 38),
    "black": (24, 24, 24),
    "white": (248, 248, 248),
    "gray": (136, 136, 136),
}
# What programs draw by the same names, and after it what they call lime, olive, teal, navy, aqua,
# maroon, fuchsia and silver: with these, CSS's sixteen basic colours.
CSS: dict[str, tuple[RGB, ...]] = {
    "red": ((255, 0, 0), (128, 0, 0)), "orange": ((255, 165, 0),), "yellow": ((255, 255, 0),),
    "green": ((0, 128, 0), (0, 255, 0), (128, 128, 0), (0, 128, 128)),
    "blue": ((0, 0, 255), (0, 0, 128), (0, 255, 255)), "purple": ((128, 0, 128),),
    "pink": ((255, 192, 203), (255, 0, 255)), "brown": ((165, 42, 42),), "black": ((0, 0, 0),),
    "white": ((255, 255, 255),), "gray": ((128, 128, 128), (192, 192, 192)),
}
SHAPES = ("circle", "square", "triangle", "star", "heart", "diamond", "pentagon", "hexagon",
          "cross", "ring", "arrow")
# What `objects: few` leaves of the world: one thing a picture, ten shapes in six colours.
FEW_SHAPES = tuple(name for name in SHAPES if name != "pentagon")
FEW_COLORS = ("red", "yellow", "green", "blue", "black", "white")
WORLDS = ("all", "shapes", "few")  # with emoji, without, and few shapes

_READ = read_lists(__file__, "objects")
# What else a right answer may call a thing (never used in a question or a caption).
SYNONYMS: dict[str, tuple[str, ...]] = _READ["synonyms"]
WORDS: tuple[str, ...] = _READ["sign_words"]


@dataclass(frozen=True)
class Kind:
    """One nameable thing; it has a `color` only where a person would answer with that one word."""

    name: str
    plural: str
    category: str
    emoji: str = ""
    color: str = ""


SHAPE_KINDS = [Kind(n, "crosses" if n == "cross" else n + "s", "shape") for n in SHAPES]
EMOJI_KINDS = [
    Kind(name, plural, category, emoji, color)
    for category, rows in _READ["emoji"].items()
    for emoji, name, plural, color in rows
]
KINDS: dict[str, Kind] = {kind.name: kind for kind in SHAPE_KINDS + EMOJI_KINDS}


def shapes_of(objects: str) -> tuple[str, ...]:
    """The shapes of a world."""
    return FEW_SHAPES if objects == "few" else SHAPES


def colors_of(objects: str) -> tuple[str, ...]:
    """The colours of a world."""
    return FEW_COLORS if objects == "few" else tuple(COLORS)


def plural(name: str) -> str:
    return "signs" if name == "sign" else KINDS[name].plural


def stable_hash(*parts: str) -> int:
    """The same on every machine and run, unlike hash()."""
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[:4], "big")


def held_out(shape: str, color: str) -> bool:
    """Shape×colour pairs that training never sees (about one in ten)."""
    return stable_hash("combo", shape, color) % 10 == 0


def held_out_background(name: str, background: str) -> bool:
    """Thing×background-colour pairs that training never sees (about one in thirty)."""
    return stable_hash("background", name, background) % 30 == 0
