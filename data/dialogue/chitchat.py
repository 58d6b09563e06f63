"""Chit-chat: what people say besides questions of the world: remarks, wishes, what nobody here can know.

Trained and measured in interleaved dialogues (data/interleaved.py). The conversations of
data/dialogue/conversation.py hold none of it, so that figures of different weights compare.
"""

from __future__ import annotations

from data.dialogue import numbers, world
from data.dialogue.draw import Draw, Turn
from data.dialogue.out_of_scope import unknown
from data.dialogue.social import fixed, groups
from data.dialogue.things import SINGLE, THINGS
from data.dialogue.told import plural
from data.english import article, upper
from data.word_lists import read_lists

NICE = "That is nice!"
UNCLEAR = "I don't understand that. Please ask me in another way."
APART = 3  # places in the order by size between animals that are compared
LISTS = read_lists(__file__, "chitchat")


def statement(draw: Draw) -> list[Turn]:
    """Something the user likes or has."""
    if draw.chance() < 0.5:
        x = draw.pick(LISTS["pleasures"])
        return [Turn(upper(draw.say(LISTS["likes"], x=x)), NICE)]
    named = draw.pick(THINGS)[1]
    wordings = LISTS["haves"] if draw.chance() < 0.6 else LISTS["likes"]
    return [Turn(upper(draw.say(wordings, x=named)), NICE)]


def about(draw: Draw) -> list[Turn]:
    """"Tell me about dogs." """
    word, named, meaning, _ = draw.pick(SINGLE)
    answer = f"{upper(named)} {world.verb(named)} {meaning}."
    return [Turn(draw.say(LISTS["about"], x=plural(word)), answer, (upper(meaning),))]


def bigger(draw: Draw) -> list[Turn]:
    """Which of two animals is bigger."""
    by_size = LISTS["by_size"]
    one, two = draw.fresh(lambda: tuple(draw.rng.sample(by_size, 2)))
    places = by_size.index(one), by_size.index(two)
    if abs(places[0] - places[1]) < APART:
        return bigger(draw)
    large = by_size[max(places)]
    question = upper(draw.say(LISTS["bigger"], x=article(one), y=article(two)))
    named = article(large)
    return [Turn(question, f"{upper(named)} is bigger.", (named, f"The {large} is bigger."))]


def letter(draw: Draw) -> list[Turn]:
    """The letter after a letter."""
    place = draw.number(0, 24)
    x, y = chr(65 + place), chr(66 + place)
    return [Turn(upper(draw.say(LISTS["next_letter"], x=x)), f"{y} comes after {x}.", (y,), keep=True)]


def halves(draw: Draw) -> list[Turn]:
    """Half of an even number, or twice a number."""
    a = draw.number(1, 20)
    if draw.chance() < 0.5:
        return [Turn(draw.say(LISTS["half"], a=2 * a), *numbers.result(f"Half of {2 * a} is {a}.", a))]
    return [Turn(draw.say(LISTS["double"], a=a), *numbers.result(f"2 times {a} is {2 * a}.", 2 * a))]


def gibberish(draw: Draw) -> list[Turn]:
    """Keys hit at random."""
    if draw.chance() < 0.15:
        return [Turn(draw.pick(("?", "...", "!", "??", ".", "-", "???", "!!!", ",")), UNCLEAR)]
    typed = " ".join(
        "".join(draw.pick("qwertzuiopasdfghjklyxcvbnm") for _ in range(draw.number(3, 9)))
        for _ in range(draw.number(1, 3))
    )
    return [Turn(typed, UNCLEAR, keep=True)]


# kind -> (maker, weight)
CHITCHAT = {
    "reaction": (fixed(groups(LISTS["reactions"])), 6), "statement": (statement, 4), "about": (about, 5),
    "bigger": (bigger, 3),
    "letter": (letter, 2), "halves": (halves, 3), "gibberish": (gibberish, 2), "unknown": (unknown, 7),
}
