"""Known things as other artists draw them, and cut out of photographs: "What do you see?"

One thing a picture. The drawings are those of a set that no training saw (data/scenes/styles.py), with the
same scenes in Noto's drawings beside them. The cut-outs are of photographs of the test part, on plain and on
textured grounds. Each is asked with thinking and without.
"""

from __future__ import annotations

import random
import sys

from torch import Tensor

from data.readers.cutouts import build_cutouts
from data.readers.drawings import HINT, available
from data.scenes.objects import COLORS, KINDS
from data.scenes.questions import thing_answer
from data.scenes.render import render
from data.scenes.sampling import make_thing, sample_scene
from data.scenes.scene import Background, Drawing, Scene
from data.scenes.scoring import score
from data.scenes.sprites import photographs
from data.scenes.styles import HELD_OUT, PHOTOGRAPHED, draws
from evaluation.asking import Asker, user_turn
from evaluation.results import rate
from evaluation.setting import SEED, Measured, Setting
from models.image import image_to_tensor

PICTURES = 300  # of each set
QUESTION = "What do you see?"
SIDES = (90, 190)  # pixels a side of a cut-out
TEXTURES = ("checks", "dots", "stripes", "noise", "texture")
CUT = "photo_test"  # the style of cut-outs that training never sees


def ask_styles(asker: Asker, setting: Setting) -> Measured:
    """Figures of each set of pictures that can be drawn here, `style/NAME` and `style_direct/NAME`."""
    figures: Measured = {}
    for name, scenes in sets(setting).items():
        images = [image_to_tensor(render(scene)) for scene in scenes]
        for key, asked in (("style", asker), ("style_direct", asker.direct())):
            figures[f"{key}/{name}"] = rate(named(asked, scenes, images, f"{key} {name}"))
    return figures


def sets(setting: Setting) -> dict[str, list[Scene]]:
    """Scenes by what is examined; a line says what is missing."""
    count, found = setting.count(PICTURES), {}
    if available(HELD_OUT):
        found |= {style: drawn(style, count) for style in (HELD_OUT, "noto")}
    else:
        print(f"left out: no drawings in the style {HELD_OUT}: {HINT}", file=sys.stderr)
    if setting.real_dir is not None:
        build_cutouts(setting.real_dir, "test")
    if available(CUT):
        found |= {f"cutout_{ground}": cut_out(ground, count) for ground in ("plain", "textured")}
    return found


def drawn(style: str, count: int) -> list[Scene]:
    """Single things that the held-out artist drew, too, in a style."""
    scenes = []
    while len(scenes) < count:
        rng = random.Random(f"style-{SEED}-{len(scenes)}")
        while True:
            scene = sample_scene(rng, "test", layout="single")
            (thing,) = scene.things
            if thing.kind == "emoji" and draws(HELD_OUT, thing.name):
                break
        thing.drawing = Drawing(style)
        scenes.append(scene)
    return scenes


def cut_out(ground: str, count: int) -> list[Scene]:
    """Cut-outs of photographs, on grounds of one colour ("plain") or of two in a pattern."""
    source = photographs(CUT)
    assert source is not None
    known = sorted(name for name in source.places if name in KINDS)
    scenes = []
    for i in range(count):
        rng = random.Random(f"cutout-{SEED}-{i}")
        first, second = (COLORS[color] for color in rng.sample(tuple(COLORS), 2))
        kind = "flat" if ground == "plain" else rng.choice(TEXTURES)
        side = rng.uniform(*SIDES)
        x, y = (112 + rng.uniform(-1, 1) * (112 - side / 2) for _ in range(2))
        thing = make_thing(rng, "emoji", rng.choice(known), "", side, x, y)
        thing.drawing = Drawing(CUT, rng.randrange(1 << 16))
        scenes.append(Scene("single", Background(kind, "", first, second), [thing], seed=i))
    return scenes


def named(asker: Asker, scenes: list[Scene], images: list[Tensor], desc: str) -> list[bool]:
    """Which pictures' things are named, and nothing else."""
    answers = asker.ask([user_turn(QUESTION, [image]) for image in images], desc)
    return [names_it(answer, scene) for answer, scene in zip(answers, scenes, strict=True)]


def names_it(answer: str, scene: Scene) -> bool:
    """Whether an answer names the one thing, by its name here or by that of the photograph's label."""
    question = thing_answer("what", QUESTION, scene.things[0])
    labels = [label for label, name in PHOTOGRAPHED.items() if name == scene.things[0].name]
    return score(answer, question | {"accept": question["accept"] + labels})
