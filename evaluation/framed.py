"""Scenes on other grounds than their own, or in grey; and several pictures in one request.

The same questions about the same scenes are asked of the scene as it is, on a wide, a tall and a coloured
ground, as screenshots and films have them; and in grey, where no colour is asked. Of two or three pictures
is asked which has something and what is different. Control: grey pictures. Beside these, what a program
draws: one shape, or nothing else, in a colour of CSS.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable

import torch
from PIL import Image, ImageDraw, ImageOps

from data.scenes.build import build_pictures
from data.scenes.first_tries import first_questions
from data.scenes.objects import COLORS, CSS, RGB
from data.scenes.render import render
from data.scenes.sampling import DRAWN_BY_CODE, sample_scene
from data.shards import ShardReader
from evaluation.asking import Asker, graded, user_turn
from evaluation.results import by_kind, rate
from evaluation.setting import SEED, Measured, Setting
from models.image import image_to_tensor
from training.media import picture

SCENES, SETS, FIRST = 400, 200, 200
SIDES = (48, 224, 900)  # pixels of pictures in one colour
BLANK = torch.full((3, 224, 224), 128, dtype=torch.uint8)  # grey


def on(ground: str, width: float, height: float) -> Callable[[Image.Image], Image.Image]:
    """Puts a picture in the middle of a ground so many times as wide and high."""

    def placed(image: Image.Image) -> Image.Image:
        size = round(width * image.width), round(height * image.height)
        whole = Image.new("RGB", size, ground)
        whole.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
        return whole

    return placed


GROUNDS = {"wide": on("white", 2.2, 1), "tall": on("black", 1, 2.2), "coloured": on("teal", 1.7, 1)}


def ask_framed(asker: Asker, scenes: ShardReader, setting: Setting) -> Measured:
    """Rates as it is, on each ground and in grey; `in_colour` are the questions asked in grey."""
    n, rng = min(setting.count(SCENES), len(scenes)), random.Random(SEED)
    asked = [rng.choice(scenes.record(i)["questions"]) for i in range(n)]
    images = [Image.open(io.BytesIO(scenes[i]["image"])).convert("RGB") for i in range(n)]
    grey = [i for i, question in enumerate(asked) if colourless(question)]

    def right(places: list[int], change: Callable[[Image.Image], Image.Image], desc: str) -> list[bool]:
        shown = [image_to_tensor(change(images[i])) for i in places]
        turns = [user_turn(asked[i]["question"], [image]) for i, image in zip(places, shown, strict=True)]
        return graded(asker.ask(turns, desc), [asked[i] for i in places])

    plain = right(list(range(n)), Image.Image.copy, "framed, as it is")
    figures = {"framed/plain": rate(plain), "framed/in_colour": rate([plain[i] for i in grey])}
    for name, change in GROUNDS.items():
        figures[f"framed/{name}"] = rate(right(list(range(n)), change, f"framed, {name}"))
    return figures | {"framed/grey": rate(right(grey, ImageOps.grayscale, "framed, grey"))}


def colourless(question: dict) -> bool:
    """Whether neither a question nor its answer has to do with colour."""
    words = set(re.findall("[a-z]+", f"{question['question']} {question['answer']}".lower()))
    return question["kind"] != "color" and not words & {*COLORS, "color", "colors", "background"}


def ask_several(asker: Asker, setting: Setting) -> Measured:
    """One question about each set of pictures, by kind; and of grey ones."""
    folder, rng = setting.data_dir / "several_test", random.Random(SEED)
    build_pictures(folder, SETS, SEED, "test", "several", workers=setting.workers)
    sets = ShardReader(folder)
    n = min(setting.count(SETS), len(sets))
    asked = [rng.choice(sets.record(i)["questions"]) for i in range(n)]
    shown = [[picture(sets[i][f"image{k}"]) for k in range(len(sets.record(i)["scenes"]))] for i in range(n)]
    figures: Measured = {}
    for name, images in (("several", shown), ("several_blank", [[BLANK] * len(one) for one in shown])):
        turns = [user_turn(q["question"], pictures) for q, pictures in zip(asked, images, strict=True)]
        figures |= by_kind(name, [q["kind"] for q in asked], graded(asker.ask(turns, name), asked))
    return figures


def in_one_colour(shade: RGB, side: int, circle: bool) -> Image.Image:
    """A picture that is nothing but a colour, or a circle of it on white; a white one on black."""
    ground = "black" if min(shade) > 240 else "white"
    image = Image.new("RGB", (side, side), ground if circle else shade)
    if circle:
        ImageDraw.Draw(image).ellipse((side // 5, side // 5, side - side // 5, side - side // 5), shade)
    return image


def ask_colours(asker: Asker) -> Measured:
    """The colours of CSS in pictures of three sizes: of a circle, and of the whole picture."""
    figures: Measured = {}
    cases = [(name, shade, side) for name, shades in CSS.items() for shade in shades for side in SIDES]
    for what, question in (("circle", "What color is the circle?"), ("plain", "What color is this?")):
        images = [image_to_tensor(in_one_colour(*case[1:], what == "circle")) for case in cases]
        answers = asker.ask([user_turn(question, [image]) for image in images], f"colours, {what}")
        asked = [{"kind": "color", "answer": name} for name, *_ in cases]
        figures[f"css/{what}"] = rate(graded(answers, asked))
    return figures


def ask_first(asker: Asker, setting: Setting) -> Measured:
    """The colour and the shape of what is alone in a picture that a program drew."""
    rng, shown, asked = random.Random(SEED), [], []
    while len(asked) < setting.count(FIRST):
        scene = sample_scene(rng, "test", layout=DRAWN_BY_CODE)
        if questions := first_questions(scene, rng, "test"):
            asked.append(rng.choice(questions))
            shown.append(image_to_tensor(render(scene)))
    turns = [user_turn(q["question"], [image]) for q, image in zip(asked, shown, strict=True)]
    return {"css/first": rate(graded(asker.ask(turns, "first questions"), asked))}
