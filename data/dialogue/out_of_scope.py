"""Questions from outside the world, which the model is to decline: how to do things, who invented them,
why the sky is blue, and a quiz.

The quiz is OpenTriviaQA's questions where the manifest's text is there; its answers are not learnt, as a
model of this size could not remember them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from data.dialogue.draw import Draw, Turn
from data.dialogue.facts import CAPITALS
from data.dialogue.social import REFUSAL
from data.dialogue.told import FURTHER_OBJECTS
from data.english import article
from data.splits import slot
from data.text import trivia

SHORT = ("I don't know that.", "I don't know.")  # as right as the whole refusal
SHORTEST, LONGEST = 20, 90  # characters of a quiz question
KNOWN = ("capital", "opposite", "color", "colour", "how many", "spell", "following", "these", "picture")

HOW_TO = ("How do I {v}?", "How can I {v}?", "Can you teach me to {v}?", "Why do people {v}?",
          "How long does it take to {v}?", "What is the best way to {v}?", "Where can I learn to {v}?",
          "When should I {v}?", "Why should I {v}?", "Who can {v} best?",
          "How did people {v} long ago?", "Is it hard to {v}?", "What do I need to {v}?",
          "How often should I {v}?")
DEEDS = ("cook rice", "bake a cake", "fix a bicycle", "learn French", "build a house", "draw a horse",
         "grow tomatoes", "tie a tie", "play chess", "drive a car", "make money", "write a letter",
         "find a job", "clean a carpet", "train a dog", "lose weight", "sell a house", "sew a dress",
         "catch a fish", "swim", "paint a wall", "make bread", "wash wool", "fly a plane",
         "plant a tree", "repair a watch", "make coffee", "save money", "climb a mountain",
         "install a printer", "open a bank account", "cut hair", "study for an exam")
ABOUT_THING = ("Who invented the {w}?", "When was the {w} invented?", "How much does a {w} cost?",
               "How much does a {w} weigh?", "How do you make a {w}?", "Why is it called a {w}?",
               "Who made the first {w}?", "How old is the oldest {w}?", "What was the first {w} like?",
               "Where can I buy a {w}?", "Which {w} is the best?", "How many {w} kinds are there?",
               "Who owns the biggest {w}?", "What is the history of the {w}?")
WHY = ("Why is the sky blue?", "Why is grass green?", "Why do we sleep?", "Why does it rain?",
       "Why do birds sing?", "Why is the sea salty?", "Why do cats purr?", "Why do leaves fall?",
       "Why is snow white?", "Why do we dream?", "Why is the moon bright?", "Why do dogs bark?",
       "Why do people laugh?", "Why is fire hot?", "Why do stars shine?", "Who wrote Hamlet?",
       "Who painted the Mona Lisa?", "Who was the first man on the moon?", "Who is Albert Einstein?",
       "When did the war end?", "What is the tallest mountain?", "What is the longest river?",
       "Who is your favorite actor?", "Which planet is the largest?", "What is gravity?",
       "How does the internet work?", "What is democracy?", "Who was Columbus?")
TOWNS = tuple(town.lower() for town in CAPITALS.values())


def unknown(draw: Draw) -> list[Turn]:
    """A question nobody in this world can answer."""
    way = draw.chance()
    if way < 0.3:
        question = draw.say(HOW_TO, v=draw.pick(DEEDS))
    elif way < 0.55:
        thing = draw.pick(FURTHER_OBJECTS)
        question = draw.say(ABOUT_THING, w=thing).replace(f" a {thing}", f" {article(thing)}")
    else:
        question = draw.say(WHY)
    return [Turn(question, REFUSAL, SHORT)]


def quiz_maker(questions: list[str]) -> Callable[[Draw], list[Turn]]:
    """What makes a turn of one of these quiz questions."""

    def make(draw: Draw) -> list[Turn]:
        return [Turn(draw.pick(questions), REFUSAL, SHORT, keep=True)]

    return make


def quiz(real: Path | None, split: str) -> list[str]:
    """The quiz questions of a split (by a hash of what is asked), none without the manifest's text."""
    if real is None:
        return []
    return [question for question in quiz_questions(real) if quiz_split(question) == split]


@lru_cache(maxsize=1)
def quiz_questions(real: Path) -> list[str]:
    """All of them, in order; read once, as both training and its record ask for them."""
    return sorted({question for question, _ in trivia(real) if outside(question)})


def quiz_split(question: str) -> str:
    """train, dev or test."""
    place = slot(question.lower().encode())
    return "test" if place < 5 else "dev" if place < 8 else "train"


def outside(question: str) -> bool:
    """Whether a quiz question is short and plain, and about nothing that the world knows."""
    lower = question.lower()
    plain = SHORTEST <= len(question) <= LONGEST and question.endswith("?") and question.isascii()
    return plain and not any(word in lower for word in (*KNOWN, *TOWNS))
