"""How a scene is drawn: by which artists, with what done to their drawings, and on which ground.

Chosen by a seed of its own after the scene is sampled, so that the same scenes can be drawn in another
style. A choice that hides a truth (a colour that this artist does not use, a grey picture) removes it from
the scene, and nothing is asked about it.
"""

from __future__ import annotations

import copy
import math
import random
from functools import cache

from data.scenes.hands import OTHER_COLORS, WAYS
from data.scenes.objects import COLORS, KINDS, RGB, held_out_background
from data.scenes.sampling import DRAWN_BY_CODE
from data.scenes.scene import SIZE, Background, Drawing, Inset, Scene, Thing
from data.word_lists import read_lists
from models.errors import UserError

# Styles that training draws in, and how often. "photo" are cut-outs of photographs.
WEIGHTS = {
    "noto": 28, "fluent_flat": 18, "fluent_3d": 16, "openmoji": 15, "fxemoji": 13, "openmoji_line": 4,
    "photo": 6,
}
STYLES = tuple(WEIGHTS)
# Never trained on: it has most of our things of the two older sets, and no other set is by its artists.
HELD_OUT = "emojione"
MIXED = 0.3  # of the scenes have a style for each thing
CUT_OUT = 0.12  # of training's pictures show nothing but shapes and cut-outs of photographs
BUSY = 0.1  # of the grounds are of two colours, or a photograph
BUSY_CUT_OUT = 0.4  # the same where things are cut out
SQUEEZE = 0.3  # natural logarithm of the largest change of a drawing's proportions
STRANGE = 0.12  # of the things have other hues than their artist gave them
BENT, REDRAWN = 0.45, 0.35  # of the things are as another hand would have drawn them
FADABLE = {"red", "orange", "yellow", "green", "blue", "purple", "pink", "white", ""}  # still so when faded
CONTRAST = 40.0  # levels between a shape and its ground in a gray picture
SMALLEST = 20  # pixels a side of a thing in an inset
TRIES = 12  # to draw a scene so that everything stays true of it
# What photographs of the sets in data/readers/photos.py show, where the world has that thing, too.
PHOTOGRAPHED = {
    "apple": "apple", "bear": "bear", "bee": "bee", "bicycle": "bicycle", "bus": "bus",
    "butterfly": "butterfly", "camel": "camel", "castle": "castle", "caterpillar": "caterpillar",
    "cattle": "cow", "chair": "chair", "couch": "couch", "crab": "crab", "crocodile": "crocodile",
    "dinosaur": "dinosaur", "dolphin": "dolphin", "elephant": "elephant", "fox": "fox",
    "house": "house", "kangaroo": "kangaroo", "lion": "lion", "lizard": "lizard",
    "lobster": "lobster", "motorcycle": "motorcycle", "mouse": "mouse", "mushroom": "mushroom",
    "otter": "otter", "pear": "pear", "rabbit": "rabbit", "rocket": "rocket", "rose": "rose",
    "shark": "shark", "snail": "snail", "snake": "snake", "spider": "spider", "squirrel": "squirrel",
    "sunflower": "sunflower", "telephone": "telephone",
    "television": "television", "tiger": "tiger", "tractor": "tractor", "train": "train",
    "tulip": "tulip", "turtle": "turtle", "whale": "whale", "wolf": "wolf", "airplane": "airplane",
    "automobile": "car", "cat": "cat", "deer": "deer", "dog": "dog", "frog": "frog", "horse": "horse",
    "ship": "ship", "truck": "truck", "dress": "dress", "hat": "hat", "shoes": "shoe",
    "t-shirt": "shirt", "shirt": "shirt",
}


def for_training(data: dict) -> tuple[str, ...]:
    """The styles of a stage's `data` section, none if it names none; UserError for others."""
    styles = tuple(data.get("styles", ()))
    if wrong := sorted(set(styles) - set(STYLES)):
        known = ", ".join(STYLES)
        raise UserError(f"data.styles: {', '.join(wrong)} is held out or unknown; known are {known}")
    return styles


@cache
def facts() -> dict[str, dict[str, tuple[str, ...]]]:
    """Of every artist, the things not drawn ("missing") and those in another colour ("recoloured")."""
    return read_lists(__file__, "styles")


def draws(style: str, name: str) -> bool:
    """Whether a style has a drawing of a thing."""
    if style == "photo":
        return name in PHOTOGRAPHED.values()
    return style == "noto" or name not in facts()[style]["missing"]


def color_in(style: str, name: str) -> str:
    """The colour a thing plainly has in a style; "" where no one word fits."""
    if style in ("photo", "openmoji_line") or (
        style != "noto" and name in facts()[style]["recoloured"]
    ):
        return ""
    return KINDS[name].color


def _style(rng: random.Random, styles: tuple[str, ...], name: str, wished: str) -> str:
    """The wished style, or else another one of these that has the thing."""
    if draws(wished, name):
        return wished
    able = [style for style in styles if draws(style, name)] or ["noto"]
    return rng.choices(able, [WEIGHTS.get(style, 1) for style in able])[0]


def _altered(rng: random.Random, drawing: Drawing) -> None:
    """Small changes that leave every colour its name."""
    drawing.mirror = rng.random() < 0.3
    if rng.random() < 0.5:
        drawing.hue = round(rng.uniform(-8, 8), 1)
        drawing.saturation = round(rng.uniform(0.75, 1.2), 2)
        drawing.value = round(rng.uniform(0.85, 1.1), 2)
    drawing.outline = rng.choices(("", "white", "black"), (84, 10, 6))[0]
    drawing.shadow = rng.random() < 0.12
    drawing.shade = round(rng.uniform(0.1, 0.5), 2) if rng.random() < 0.15 else 0.0
    drawing.squeeze = round(math.exp(rng.uniform(-SQUEEZE, SQUEEZE)), 2) if rng.random() < 0.5 else 1.0


def _by_another_hand(rng: random.Random, drawing: Drawing) -> None:
    if rng.random() < BENT:
        drawing.bend = rng.randrange(1, 1 << 16)
    if drawing.style != "photo" and rng.random() < REDRAWN:
        drawing.redrawn = rng.choices(tuple(WAYS), tuple(WAYS.values()))[0]


def draw_things(scene: Scene, rng: random.Random, styles: tuple[str, ...]) -> None:
    """Choose how each thing is drawn, in place; things that are counted together are drawn alike."""
    weights = [WEIGHTS.get(style, 1) for style in styles]
    one = rng.choices(styles, weights)[0]
    mixed, alter = rng.random() < MIXED, rng.random() < 0.5
    alike: dict[tuple[str, str], Drawing] = {}
    for thing in scene.things:
        if thing.kind == "sign":
            continue
        if thing.key in alike and rng.random() < 0.85:
            thing.drawing = Drawing(**vars(alike[thing.key]))
        else:
            thing.drawing = Drawing(variant=rng.randrange(1 << 16))
            if alter:
                _altered(rng, thing.drawing)
            if thing.kind == "emoji":
                wished = rng.choices(styles, weights)[0] if mixed else one
                thing.drawing.style = _style(rng, styles, thing.name, wished)
                if rng.random() < STRANGE:
                    thing.drawing.hue = round(rng.uniform(30, 330), 1)
                _by_another_hand(rng, thing.drawing)
            alike.setdefault(thing.key, thing.drawing)
        _keep_true(thing)
        if thing.drawing.style == "openmoji_line" and _hides_lines(scene.background):
            thing.drawing.outline = "white"


def _hides_lines(background: Background) -> bool:
    return not background.color or luminance(background.rgb) < 120


def _keep_true(thing: Thing) -> None:
    """Take from a thing what its drawing does not show."""
    if thing.kind == "shape":
        thing.drawing.hue, thing.drawing.saturation, thing.drawing.value = 0.0, 1.0, 1.0
        thing.drawing.mirror, thing.drawing.squeeze = False, 1.0
        thing.drawing.shade = min(thing.drawing.shade, 0.25)
    elif abs(thing.drawing.hue) > 10 or thing.drawing.redrawn in OTHER_COLORS:
        thing.color = ""
    else:
        thing.color = color_in(thing.drawing.style, thing.name)


def _busy_ground(scene: Scene, rng: random.Random) -> None:
    """A ground without one colour: two colours in a pattern, or a photograph."""
    kind = rng.choice(("checks", "dots", "stripes", "noise", "texture", "photo"))
    taken = {t.color for t in scene.things} | {scene.background.color}
    first, second = rng.sample([c for c in COLORS if c not in taken], 2)
    scene.background = Background(kind, "", COLORS[first], COLORS[second])


def _inset(scene: Scene, rng: random.Random) -> None:
    """Shrink the picture and put it somewhere on a ground, as a screenshot shows it."""
    most = min((t.side for t in scene.things), default=SIZE)
    least = max(0.35, SMALLEST / most)
    if least > 0.85 or any(t.kind == "sign" for t in scene.things):
        return
    scale = rng.uniform(least, 0.85)
    side = SIZE * scale
    x, y = rng.uniform(0, SIZE - side), rng.uniform(0, SIZE - side)
    shade = rng.choice((255, 255, 245, 235, 30, 0, rng.randint(0, 255)))
    rgb = (shade,) * 3 if rng.random() < 0.7 else tuple(rng.randint(0, 255) for _ in range(3))
    scene.inset = Inset(round(x, 1), round(y, 1), round(side, 1), rgb, rng.random() < 0.4)
    scene.background.color = ""  # there are two grounds now
    for thing in scene.things:
        thing.moved(x + thing.x * scale, y + thing.y * scale, scale)


def grayed(scene: Scene) -> None:
    """Make a scene black and white, in place: it has no colours then."""
    scene.gray, scene.background.color = True, ""
    for thing in scene.things:
        thing.color = ""


def luminance(rgb: RGB) -> float:
    """Brightness as a gray picture has it, 0 to 255."""
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]


def seen_in_gray(scene: Scene) -> bool:
    """Whether every shape still stands out from the ground without colours."""
    grounds = (scene.background.rgb, scene.background.rgb2)
    return all(
        abs(luminance(thing.rgb) - luminance(ground)) > CONTRAST
        for thing in scene.things
        if thing.kind == "shape"
        for ground in grounds
    )


def frame(scene: Scene, rng: random.Random) -> None:
    """Choose what became of the whole picture, in place."""
    if rng.random() < 0.12:
        _inset(scene, rng)
    elif rng.random() < 0.06:
        scene.border = (rng.randint(3, 14), tuple(rng.randint(0, 255) for _ in range(3)))
    colors = {t.color for t in scene.things} | {scene.background.color}
    if rng.random() < 0.06 and seen_in_gray(scene):
        grayed(scene)
    elif rng.random() < 0.08 and colors <= FADABLE:
        scene.fade = round(rng.uniform(0.1, 0.4), 2)


def cut_outs(scene: Scene, rng: random.Random) -> Scene:
    """Everyday things exchanged for such as photographs show, and drawn as cut-outs of those, in place."""
    allowed = sorted(set(PHOTOGRAPHED.values()))
    allowed = [name for name in allowed if not held_out_background(name, scene.background.color)]
    names = iter(rng.sample(allowed, len(allowed)))
    instead: dict[str, str] = {}
    for thing in scene.things:
        if thing.kind == "emoji":
            if thing.name not in instead:
                instead[thing.name] = next(names)
            thing.name = instead[thing.name]
    return dress(scene, rng, ("photo",), BUSY_CUT_OUT)


def dress(scene: Scene, rng: random.Random, styles: tuple[str, ...], busy: float = BUSY) -> Scene:
    """Choose how a scene is drawn, in place; see the module. `busy`: share of the grounds."""
    if scene.layout == DRAWN_BY_CODE:
        return scene
    if scene.layout != "sign" and rng.random() < busy:  # letters need an even ground
        _busy_ground(scene, rng)
    draw_things(scene, rng, styles)
    frame(scene, rng)
    return scene


def dress_truly(scene: Scene, rng: random.Random, styles: tuple[str, ...]) -> Scene:
    """The scene drawn so that all stays true of it; as it was where no such drawing is found."""
    for _ in range(TRIES):
        drawn = dress(copy.deepcopy(scene), rng, styles)
        if _truth(drawn) == _truth(scene):
            return drawn
    return scene


def _truth(scene: Scene) -> list:
    """What questions can ask about."""
    things = [(thing.color, thing.size, thing.x, thing.y) for thing in scene.things]
    return [scene.background.kind, scene.background.color, *things]
