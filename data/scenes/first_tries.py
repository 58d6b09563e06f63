"""What people try first with a picture: one colour, and the colour or the shape of what is alone in it.

Made for the joint stage as its samples are drawn, beside the scenes and their questions, which are
kept. The same is asked where there is no picture.
"""

from __future__ import annotations

import random

from PIL import Image

from data.dialogue.social import NO_PICTURE
from data.english import article, upper
from data.scenes.build import jpeg
from data.scenes.objects import CSS, KINDS, SHAPES
from data.scenes.paraphrases import ask
from data.scenes.questions import Question, color_answer, thing_answer, whether_there
from data.scenes.sampling import DRAWN_BY_CODE
from data.scenes.scene import Background, Scene
from data.turns import text_part, turn

SIDE = 16  # pixels; the loader enlarges it


def one_color(rng: random.Random, split: str) -> dict:
    """The record of a picture that is nothing but a colour of CSS."""
    name = rng.choice(tuple(CSS))
    shade = rng.choice(CSS[name])
    scene = Scene(DRAWN_BY_CODE, Background("flat", name, shade, shade))
    hue = color_answer(ask(rng, "hue", split), name)
    whole = color_answer(ask(rng, rng.choice(("whole", "background")), split), name)
    seen = {"kind": "caption", "question": ask(rng, "list", split), "answer": f"The picture is all {name}."}
    missing = rng.choice((*SHAPES, *KINDS))
    nothing = whether_there(ask(rng, "exists", split, ax=article(missing)), missing, yes=False)
    return {
        "scene": scene.to_dict(),
        "image": jpeg(Image.new("RGB", (SIDE, SIDE), shade)),
        "questions": [hue, whole, seen, nothing],
        "follow_ups": [],
    }


def first_questions(scene: Scene, rng: random.Random, split: str) -> list[Question]:
    """The colour and the shape of what is alone, or which shape has a colour; [] where neither fits."""
    things = scene.things
    if len(things) == 1 and things[0].color:
        asked = [color_answer(ask(rng, "hue", split), things[0].color)]
        return asked + [shape(things[0].name, rng, split)] * (things[0].kind == "shape")
    colors = [thing.color for thing in things]
    alone = [thing for thing in things if thing.color and colors.count(thing.color) == 1]
    if not alone or any(thing.kind != "shape" for thing in things):
        return []
    chosen = rng.choice(alone)
    return [thing_answer("what", ask(rng, "which", split, c=chosen.color), chosen)]


def shape(name: str, rng: random.Random, split: str) -> Question:
    """What shape the one thing has."""
    answer = upper(article(name)) + "."
    return {"kind": "what", "question": ask(rng, "shape", split), "answer": answer, "accept": [name]}


def unseen(rng: random.Random, split: str) -> list[dict]:
    """The same asked without a picture."""
    question = ask(rng, rng.choice(("hue", "shape")), split)
    return turn([text_part(question)], NO_PICTURE)
