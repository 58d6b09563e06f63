"""Ways of asking and of saying, by kind. The ones held out are never seen in training.

`{x}` and `{y}` are things with no article ("dog", "red circle"), `{xs}` a plural, `{s}` a sentence
part. "color" is respelled "colour" in half of the questions by `ask`.
"""

from __future__ import annotations

import random

from data.word_lists import read_lists

# More wordings for training alone, by kind: written by somebody who had seen none that are held out.
FURTHER = read_lists(__file__, "further")
FURTHER_SHARE = 0.6  # of training's questions; the others are worded as half of dev's and test's are

Wordings = tuple[tuple[str, ...], tuple[str, ...]]  # of training, and held out for dev and test
_READ = read_lists(__file__, "paraphrases")
ASK: dict[str, Wordings] = _READ["ask"]  # by kind
# {s}: "a dog and three apples"; {b}: "a green background"; {is}: "is" or "are", as {s} asks.
SAY: Wordings = _READ["say"]
# Two things: {x} and {y} with articles, {r} "to the left of", …
SAY_RELATION: Wordings = _READ["say_relation"]


def pick(rng: random.Random, pair: Wordings, split: str) -> str:
    """A template: in training from the train list, else half of the time a held-out one."""
    return rng.choice(pair[1] if split != "train" and rng.random() < 0.5 else pair[0])


def practised(rng: random.Random, kind: str, wordings: tuple[str, ...]) -> str:
    """A template for training: one of these, or of the further ones of a kind."""
    further = FURTHER.get(kind)
    return rng.choice(further if further and rng.random() < FURTHER_SHARE else wordings)


def ask(rng: random.Random, kind: str, split: str, **words: str) -> str:
    """A question of a kind."""
    template = practised(rng, kind, ASK[kind][0]) if split == "train" else pick(rng, ASK[kind], split)
    text = template.format(**words)
    return text.replace("color", "colour") if rng.random() < 0.5 else text
