"""Short stories about a thing that is asked for, made from a grammar.

Each plot is six lines that follow from one another, with three wordings a line; who, where and when
are filled in. They are different in millions of ways and coherent by construction.
"""

from __future__ import annotations

from data.dialogue.draw import Draw, Turn
from data.dialogue.wordings import STORIES, WORDINGS
from data.english import article, upper

HEROES, THINGS = STORIES["heroes"], STORIES["things"]
MOST_WORDS = 62  # of a story, so that it stays under 90 tokens


def story(draw: Draw) -> list[Turn]:
    """A story about a hero or a thing; some of them are kept for dev and test."""
    _, thing = draw.fresh(lambda: ("story", draw.pick(HEROES if draw.chance() < 0.6 else THINGS)))
    plots = STORIES["hero_plots" if thing in HEROES else "thing_plots"]
    text = told(draw, thing, draw.pick(plots))
    while len(text.split()) > MOST_WORDS:
        text = told(draw, thing, draw.pick(plots))
    return [Turn(draw.say(WORDINGS["story"], x=article(thing)), text, rule=("story", thing))]


def told(draw: Draw, thing: str, plot: list[list[str]]) -> str:
    """A plot, filled in."""
    friend = draw.pick([f for f in STORIES["friends"] if not f.endswith(f" {thing}")])
    filled = {
        "x": thing, "a": article(thing), "n": draw.pick(STORIES["names"]), "f": friend,
        "F": f"the {friend.split()[-1]}", "k": draw.pick(STORIES["kinds"]),
        "p": draw.pick(STORIES["places"]), "d": draw.pick(STORIES["days"]), "e": draw.pick(STORIES["foods"]),
    }
    return " ".join(upper(draw.pick(line).format(**filled)) for line in plot)
