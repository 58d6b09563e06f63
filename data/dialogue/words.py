"""Spelling, copying and opposites."""

from __future__ import annotations

from data.dialogue.draw import Draw, Turn
from data.dialogue.facts import NAMES, OPPOSITES, SPELLABLE

SPELL = ("How do you spell {w}?", "Spell {w}.", "Can you spell {w}?", "Please spell the word {w}.",
         "Spell the word {w}.", "How is {w} spelled?", "How would you spell {w}?",
         "What is the spelling of {w}?", "Could you spell {w} for me?", "Tell me how to spell {w}.",
         "How do I spell {w}?", "Give me the spelling of {w}.", "How is the word {w} spelled?",
         "How does one spell {w}?", "Say the letters of {w}.")
FIRST = ("What is the first letter of {w}?", "What letter does {w} start with?",
         "Which letter does {w} begin with?", "Tell me the first letter of {w}.",
         "What does {w} start with?", "With which letter does {w} start?",
         "{w} starts with which letter?",
         "Which is the first letter of {w}?", "What letter begins the word {w}?",
         "Name the first letter of {w}.", "What letter is first in {w}?",
         "Say the first letter of {w}.",
         "Which letter comes first in {w}?")
LAST = ("What is the last letter of {w}?", "What letter does {w} end with?",
        "Which letter does {w} end in?", "Tell me the last letter of {w}.",
        "What does {w} end with?",
        "With which letter does {w} end?", "{w} ends with which letter?",
        "Which is the last letter of {w}?", "What letter ends the word {w}?",
        "Name the last letter of {w}.", "What letter is last in {w}?",
        "Say the last letter of {w}.")
LENGTH = ("How many letters are in {w}?", "How many letters does {w} have?",
          "Count the letters in {w}.",
          "How long is the word {w}?", "How many letters has the word {w}?",
          "Tell me how many letters {w} has.", "What is the number of letters in {w}?",
          "The word {w} has how many letters?", "How many letters are there in {w}?",
          "How many letters in {w}?", "Give me the number of letters in {w}.",
          "Say how many letters are in {w}.", "Can you count the letters in {w}?")
REPEAT = ("Repeat after me: {s}", "Say this: {s}", "Please repeat: {s}", "Repeat: {s}", "Say: {s}",
          "Repeat this: {s}", "Can you say this? {s}", "Say after me: {s}", "Copy this: {s}",
          "Repeat this sentence: {s}", "Please say: {s}", "Echo: {s}", "Read this aloud: {s}",
          "Say exactly this: {s}", "Write this again: {s}")
OPPOSITE = ("What is the opposite of {w}?", "Tell me the opposite of {w}.",
            "What's the opposite of {w}?",
            "Which word is the opposite of {w}?", "Give me the opposite of {w}.",
            "Opposite of {w}?",
            "The opposite of {w} is what?", "Say the opposite of {w}.",
            "What is not {w} but the opposite?",
            "Do you know the opposite of {w}?", "Name the opposite of {w}.",
            "Can you tell me the opposite of {w}?", "Which word means the opposite of {w}?",
            "What word is opposite to {w}?")

SUBJECTS = ("The dog", "A small bird", "My friend", "The old man", "A young girl", "Our teacher",
            "The red car", "A big ship", "The baby", "The farmer", "My sister", "A black cat",
            "The tall boy", "The blue ball", "The queen", "A gray mouse", "The train", "His mother")
VERBS = ("runs", "sleeps", "waits", "sings", "plays", "stops", "stands", "works", "walks", "sits",
         "moves", "falls", "jumps", "smiles", "rests")
PLACES = ("in the garden", "by the river", "near the house", "under the tree", "on the hill",
          "at school", "in the rain", "behind the door", "on the beach", "in the kitchen",
          "every morning", "at night", "in the park", "across the street", "with a friend",
          "after lunch", "next to the lake", "before dinner")
LIKES = ("apples", "music", "long walks", "the sea", "warm bread", "old books", "green tea", "snow",
         "small boats", "the sound of rain", "yellow flowers", "quiet evenings")

BOTH: dict[str, str] = {}
ALSO: dict[str, set[str]] = {}
for _a, _b in OPPOSITES:
    BOTH[_a] = _b
for _a, _b in OPPOSITES:
    BOTH.setdefault(_b, _a)
    ALSO.setdefault(_a, set()).add(_b)
    ALSO.setdefault(_b, set()).add(_a)
for _a, _b in (("old", "new"), ("short", "long"), ("light", "dark"), ("hard", "easy"), ("right",
               "wrong"),
               ("start", "stop"), ("sad", "glad"), ("kind", "mean"), ("thin", "fat"), ("dull",
               "shiny")):
    ALSO.setdefault(_a, set()).add(_b)
    ALSO.setdefault(_b, set()).add(_a)
WORDS = sorted(BOTH)


def sentence(draw: Draw) -> str:
    """A plain sentence, for copying."""
    way = draw.number(0, 2)
    if way == 0:
        return f"{draw.pick(NAMES)} likes {draw.pick(LIKES)} and {draw.pick(LIKES)}."
    if way == 1:
        return f"{draw.pick(SUBJECTS)} {draw.pick(VERBS)} {draw.pick(PLACES)}."
    return " ".join(draw.rng.sample(SPELLABLE, draw.number(1, 5)))


def spelling(draw: Draw) -> list[Turn]:
    """Spell a word, its first or last letter, or its length."""
    word = draw.pick(SPELLABLE)
    way = draw.number(0, 5)
    if way < 3:
        spelled = "-".join(word.upper())
        accept = (" ".join(word.upper()), ", ".join(word.upper()), word.upper())
        return [Turn(draw.say(SPELL, w=word), f"{spelled}.", accept)]
    if way == 3:
        letter = word[0].upper()
        answer = f"The first letter of {word} is {letter}."
        return [Turn(draw.say(FIRST, w=word), answer, (letter, f"It is {letter}."))]
    if way == 4:
        letter = word[-1].upper()
        answer = f"The last letter of {word} is {letter}."
        return [Turn(draw.say(LAST, w=word), answer, (letter, f"It is {letter}."))]
    size = len(word)
    return [Turn(draw.say(LENGTH, w=word), f"{word.capitalize()} has {size} letters.",
                 (f"{size}.", f"{size} letters."))]


def repeat(draw: Draw) -> list[Turn]:
    """Copy a sentence, character by character."""
    text = draw.fresh(lambda: sentence(draw))
    return [Turn(draw.say(REPEAT, s=text), text, (), keep=True)]


def opposite(draw: Draw) -> list[Turn]:
    """The opposite of a word."""
    word = draw.pick(WORDS)
    others = sorted(ALSO[word])
    accept = tuple(f"The opposite of {word} is {o}." for o in others) + tuple(others)
    return [Turn(draw.say(OPPOSITE, w=word), f"The opposite of {word} is {BOTH[word]}.",
                 (BOTH[word], f"It is {BOTH[word]}.", *accept))]
