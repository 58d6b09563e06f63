"""Simple definitions: thing, what it is, which category; those of things.json."""

from __future__ import annotations

from data.english import article
from data.word_lists import read_lists

# (word, word with its article, meaning, category or "")
THINGS: list[tuple[str, str, str, str]] = list(read_lists(__file__, "things"))
SINGLE = [thing for thing in THINGS if thing[1] == article(thing[0])]  # "a dog", not "water" or "the sun"
CATEGORIES = sorted({row[3] for row in THINGS if row[3]})
MASS = {"furniture", "clothing", "food", "weather"}  # categories that take no article
# Pairs for which a plain yes or no would be unfair: a bird is an animal, and so on.
NESTED = {("bird", "animal"), ("insect", "animal"), ("flower", "plant"), ("fruit", "food"),
          ("vegetable", "food"), ("drink", "food"), ("instrument", "toy"), ("building", "place"),
          ("star", "place"), ("fruit", "plant"), ("vegetable", "plant"), ("vehicle", "machine"),
          ("tool", "machine"), ("machine", "tool"), ("toy", "tool"), ("animal", "food"),
          ("sport", "toy"), ("food", "plant"), ("furniture", "tool"), ("place", "building"),
          ("animal", "bird"), ("vegetable", "fruit"), ("food", "drink"), ("machine", "vehicle"),
          ("instrument", "tool"), ("building", "machine"), ("toy", "sport")}
# Real words outside the world: the honest answer is not to know them.
UNKNOWN = """quasar mortgage carburetor algorithm enzyme sonata tariff glacier neuron parliament
molecule senate treaty hormone satire fjord gargoyle tundra isotope monsoon rhetoric alloy ledger
pendulum gasket turbine vaccine embargo plankton fresco sextant lattice zeppelin cartel dividend
obelisk samovar trellis warranty yeoman zeolite fuselage gyroscope hemisphere inverter joist kiln
lacquer mantle nebula orchestra pigment quarry rivet solstice tannin""".split()
