"""Short descriptions of a scene in words, with questions about them: reading before looking.

The words are those of the picture world (colors, sizes, shapes, objects, positions, counts), so
that the Thinker already knows them when it learns to see.
"""

from __future__ import annotations

import re

from data.dialogue.draw import Draw, Turn
from data.dialogue.things import SINGLE
from data.english import article, upper

COLORS = "red blue green yellow orange purple pink brown black white gray".split()
OBJECTS = """cup ball book car chair hat key lamp box apple banana cat dog bird fish flower tree
house boat clock shoe bottle spoon bag bus star bicycle guitar phone pizza cake carrot lemon pear
egg umbrella rocket drum kite bell truck train ship sheep horse cow pig frog mouse""".split()
FURTHER_OBJECTS = [word for word, *_ in SINGLE]  # training only
NUMBER = "zero one two three four five six".split()
INTRO = ("There is {a} and {b}.", "I see {a} and {b}.", "The picture shows {a} and {b}.",
         "In the picture there is {a} and {b}.", "Here is {a}, and {b}.",
         "On the table there is {a} and {b}.",
         "A picture with {a} and {b}.", "You see {a} and {b}.", "We have {a} and {b}.",
         "Imagine {a} and {b}.", "There is {a}. There is also {b}.", "I can see {a} and also {b}.",
         "This shows {a} next to {b}.", "Look, {a} and {b}.")
ASK_COLOR = ("What color is the {o}?", "Which color is the {o}?", "Tell me the color of the {o}.",
             "What is the color of the {o}?", "The {o} has what color?",
             "Name the color of the {o}.",
             "What color does the {o} have?")
ASK_WHAT = ("What is {k}?", "Which thing is {k}?", "Which object is {k}?", "Name the {k} thing.",
            "What thing is {k}?", "Tell me which thing is {k}.", "Which one is {k}?")
ASK_THERE = ("Is there {x}?", "Do you see {x}?", "Can you see {x}?", "Does the picture show {x}?",
             "Is {x} there?", "Is there {x} in it?", "Is {x} in the picture?")
ASK_COUNT = ("How many {o} are there?", "How many {o} do you see?", "Count the {o}.",
             "What is the number of {o}?", "How many {o}?", "Tell me how many {o} there are.",
             "How many {o} can you see?")


def plural(noun: str) -> str:
    """More than one of them; the noun may follow an adjective."""
    irregular = {"mouse": "mice", "sheep": "sheep", "fish": "fish", "deer": "deer", "goose": "geese",
                 "tooth": "teeth", "foot": "feet", "child": "children", "man": "men", "woman": "women"}
    head, _, last = noun.rpartition(" ")
    return f"{head} {irregular.get(last) or regular_plural(last)}".strip()


def regular_plural(noun: str) -> str:
    """"berry" -> "berries", "leaf" -> "leaves", "box" -> "boxes"."""
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    if noun.endswith(("knife", "wolf", "leaf", "shelf", "life", "wife", "loaf", "half", "thief", "scarf")):
        return re.sub("fe?$", "ves", noun)
    if noun.endswith(("s", "x", "ch", "sh", "potato", "tomato", "hero", "volcano")):
        return noun + "es"
    return noun + "s"


def told_scene(draw: Draw) -> list[Turn]:
    """Two colored things in words, then a question about one of them; in training several."""
    objects = FURTHER_OBJECTS if draw.practice(0.5) else OBJECTS
    two = draw.pick(objects)
    first, second, one = draw.fresh(
        lambda: (*draw.rng.sample(COLORS, 2), draw.pick([o for o in objects if o != two]))
    )
    a, b = article(f"{first} {one}"), article(f"{second} {two}")
    if draw.chance() < 0.5:
        a, b = b, a
    intro = upper(draw.say(INTRO, a=a, b=b))
    way = draw.number(0, 3)
    if way < 3:
        things = ((one, first), (two, second))
        turn = about(draw, things, way)
        turns = [turn._replace(question=f"{intro} {turn.question}")]
        if draw.split == "train":  # which colour is whose takes many questions to learn
            turns += [about(draw, things, draw.number(0, 2)) for _ in range(draw.number(1, 4))]
        return turns
    n, m = draw.number(2, 6), draw.number(2, 6)
    counted, other = plural(one), plural(two)
    intro = f"There are {NUMBER[n]} {counted} and {NUMBER[m]} {other}."
    if draw.chance() < 0.5:
        intro = f"I see {NUMBER[m]} {other} and {NUMBER[n]} {counted}."
    return [Turn(f"{intro} {draw.say(ASK_COUNT, o=counted)}", f"There are {NUMBER[n]} {counted}.",
                 (str(n), NUMBER[n], f"{NUMBER[n]} {counted}"))]


def about(draw: Draw, things: tuple[tuple[str, str], ...], way: int) -> Turn:
    """A question about one of the things (name, color): its color, its name, or whether it is there."""
    if way == 2:
        asked = things[0][0] if draw.chance() < 0.5 else draw.pick(OBJECTS)
        there = asked in [name for name, _ in things]
        answer = f"Yes, there is {article(asked)}." if there else f"No, there is no {asked}."
        return Turn(draw.say(ASK_THERE, x=article(asked)), answer, ("Yes" if there else "No",))
    name, color = things[0] if draw.chance() < 0.5 else things[1]
    if way == 0:
        return Turn(draw.say(ASK_COLOR, o=name), f"The {name} is {color}.", (color, f"It is {color}."))
    return Turn(draw.say(ASK_WHAT, k=color), f"The {name} is {color}.", (name, f"The {name}."))
