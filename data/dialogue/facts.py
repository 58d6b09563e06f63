"""Facts of the small world, as tables: those of facts.json. How they are asked is in the other files."""

from __future__ import annotations

from data.word_lists import read_lists

_READ = read_lists(__file__, "facts")
CAPITALS: dict[str, str] = _READ["capitals"]
OPPOSITES: list[tuple[str, str]] = list(_READ["opposites"])
ANIMALS: list[tuple[str, ...]] = list(_READ["animals"])  # name, sound, baby, legs, where it lives
COLORS: dict[str, str] = _READ["colors"]  # "a banana": "yellow"
AMOUNTS: list[tuple[str, str, str]] = list(_READ["amounts"])  # (part, whole, number): 7 days in a week
NAMES: list[str] = list(_READ["names"])
SPELLABLE: list[str] = list(_READ["spellable"])
MIXES: dict[tuple[str, str], str] = {
    ("red", "yellow"): "orange", ("blue", "yellow"): "green", ("red", "blue"): "purple",
    ("red", "white"): "pink", ("black", "white"): "gray", ("red", "green"): "brown",
}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
MONTH_DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
