"""What AI, a token, an image encoder are, and how this model was made: it knows its own parts."""

from __future__ import annotations

from data.dialogue import world
from data.dialogue.draw import Draw, Turn
from data.dialogue.social import fixed
from data.dialogue.wordings import LISTS
from data.english import upper

PARTS: dict[str, str] = LISTS["parts"]
OWN = tuple((tuple(row["ask"]), (row["answer"],)) for row in LISTS["own"])
_about_itself = fixed(OWN)


def parts(draw: Draw) -> list[Turn]:
    """A term of the field, or a question about the model itself."""
    if draw.chance() < 0.3:
        return _about_itself(draw)
    term = draw.pick(tuple(PARTS))
    word = term.removeprefix("a ").removeprefix("an ").removeprefix("the ")
    meaning = upper(PARTS[term].split(" is ", 1)[-1])
    return [Turn(draw.say(world.DEFINE, x=term, w=word), PARTS[term], (meaning,))]
