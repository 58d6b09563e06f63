"""Questions about a picture where none was shown: there is nothing to see, and nothing to invent."""

from __future__ import annotations

from data.dialogue.draw import Draw, Turn
from data.dialogue.social import NO_PICTURE
from data.english import article
from data.scenes.objects import KINDS, SHAPES, plural
from data.scenes.paraphrases import ask

COLORED = 0.3  # of the things are named with a colour
SHORT = ("I don't see a picture.", "There is no picture.", "I see no picture.")
ASKED = ("color", "color", "color", "count", "count", "where", "relation", "relation_what", "background",
         "count_all", "exists")
RELATIONS = ("left of", "right of", "above", "below", "under", "over", "to the left of", "to the right of")
COLORS = ("red", "blue", "green", "yellow", "black", "white", "purple", "pink")
_THINGS = tuple(k for k in (*KINDS, *SHAPES, *SHAPES, *SHAPES) if k not in ("sun", "moon"))


def no_picture(draw: Draw) -> list[Turn]:
    """A question of the kinds that are asked about pictures."""
    kind = draw.pick(ASKED)
    name, other = draw.pick(_THINGS), draw.pick(_THINGS)
    color = f"{draw.pick(COLORS)} " if kind != "color" and draw.chance() < COLORED else ""
    question = ask(draw.rng, kind, draw.split, x=color + name, ax=article(color + name), y=other,
                   xs=color + plural(name), r=draw.pick(RELATIONS))
    return [Turn(question, NO_PICTURE, SHORT)]
