"""Greetings, identity, thanks, small talk, and plain refusals of what it cannot know."""

from __future__ import annotations

from collections.abc import Callable

from data.dialogue.draw import Draw, Turn
from data.word_lists import read_lists

REFUSAL = "I don't know that. I only know a small world of pictures, sounds and simple facts."
NO_PICTURE = "I don't see a picture. Please show me one."
NO_SOUND = "I don't hear a recording. Please play me one."

Groups = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def groups(rows: tuple[dict, ...]) -> Groups:
    """(wordings, answers): the first answer is the usual one, the others are as right."""
    named = {"REFUSAL": REFUSAL, "NO_PICTURE": NO_PICTURE, "NO_SOUND": NO_SOUND}
    return tuple((row["ask"], tuple(text.format(**named) for text in row["say"])) for row in rows)


def fixed(groups: Groups) -> Callable[[Draw], list[Turn]]:
    """A maker of one of these questions with its answers."""

    def make(draw: Draw) -> list[Turn]:
        wordings, answers = draw.pick(groups)
        return [Turn(draw.say(wordings), answers[0], answers[1:])]

    return make


_READ = read_lists(__file__, "social")
GREETINGS, IDENTITY, THANKS = groups(_READ["greetings"]), groups(_READ["identity"]), groups(_READ["thanks"])
SMALL_TALK, REFUSALS = groups(_READ["small_talk"]), groups(_READ["refusals"])
INTRODUCE, ASK_NAME = _READ["introduce"], _READ["ask_name"]
greeting, identity, thanks = fixed(GREETINGS), fixed(IDENTITY), fixed(THANKS)
small_talk, refusal = fixed(SMALL_TALK), fixed(REFUSALS)
