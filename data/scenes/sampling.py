"""Scenes sampled by seed, before a pixel is drawn.

Sampling refuses crowded layouts (objects never overlap much) and, in training, held-out pairs of
shape and colour or of thing and background. It knows nothing of fonts, artists or pixels.
"""

from __future__ import annotations

import random

from data.scenes.objects import (
    COLORS,
    CSS,
    EMOJI_KINDS,
    FEW_COLORS,
    KINDS,
    RGB,
    SHAPES,
    WORDS,
    WORLDS,
    colors_of,
    held_out,
    held_out_background,
    shapes_of,
)
from data.scenes.scene import (
    HIGH,
    LARGE,
    LOW,
    MIDDLE,
    SIZE,
    SMALL,
    Background,
    Scene,
    Thing,
    size_word,
)

COUNTED = (36, 56)  # pixels a side of the objects of a count scene
LAYOUTS = ("single", "several", "count", "sign")
LAYOUT_WEIGHTS = (22, 44, 20, 14)
DRAWN_BY_CODE = "plain"  # the layout of pictures as a program draws them; see `_plain`
GROUNDS = ("flat", "gradient", "noise", "stripes", "texture")


def _jitter(rng: random.Random, rgb: RGB, amount: int) -> RGB:
    return tuple(min(255, max(0, c + rng.randint(-amount, amount))) for c in rgb)


def sample_background(rng: random.Random, objects: str = "all") -> Background:
    """A named colour, softened only where softening does not change its name."""
    often = ("white", "white", "gray", "blue", "green", "yellow", "black")
    color = rng.choice(FEW_COLORS if objects == "few" else (*COLORS, *often))
    soft = {"green": 0.5, "blue": 0.5, "purple": 0.35, "yellow": 0.4, "orange": 0.1}.get(color, 0.0)
    mix = rng.uniform(0, soft)
    rgb = _jitter(rng, tuple(int(c + (255 - c) * mix) for c in COLORS[color]), 8)
    kind = rng.choices(GROUNDS, (50, 15, 15, 10, 10))[0]
    step = rng.choice((-1, 1)) * rng.randint(14, 34)
    if color in ("white", "black"):  # stay recognisably white or black
        step = rng.randint(8, 24) * (-1 if color == "white" else 1)
    rgb2 = tuple(min(255, max(0, c + step)) for c in rgb)
    return Background(kind, color, rgb, rgb2)


def _pick_color(
    rng: random.Random, shape: str, background: str, split: str, objects: str
) -> str | None:
    colors = [c for c in colors_of(objects) if c != background]
    held = [c for c in colors if held_out(shape, c)]
    if split == "train":
        return rng.choice([c for c in colors if c not in held])
    if held and rng.random() < 0.3:  # chance is one in ten: tests ask more often than that
        return rng.choice(held)
    return rng.choice(colors)


def sample_kind(
    rng: random.Random, background: str, split: str, objects: str, taken: set[tuple[str, str]]
) -> tuple[str, str, str]:
    """(kind, name, colour) of something new in the scene that the background does not swallow."""
    while True:
        if objects != "all" or rng.random() < 0.4:
            name = rng.choice(shapes_of(objects))
            kind, color = "shape", _pick_color(rng, name, background, split, objects)
        else:
            chosen = rng.choice(EMOJI_KINDS)
            kind, name, color = "emoji", chosen.name, chosen.color
            if color == background:
                continue
        if split == "train" and held_out_background(name, background):
            continue
        if (name, color) not in taken:
            taken.add((name, color))
            return kind, name, color


def make_thing(
    rng: random.Random, kind: str, name: str, color: str, side: float, x: float, y: float
) -> Thing:
    rgb = _jitter(rng, COLORS[color], 12) if kind == "shape" else (0, 0, 0)
    turn = 25 if rng.random() < 0.6 else 0  # degrees
    if name in ("diamond", "square"):
        turn = min(turn, 12)  # a square turned far is a diamond
    if name in ("cross", "hexagon", "pentagon", "triangle"):
        turn = min(turn, 18)
    at = (round(x, 1), round(y, 1), round(side, 1))
    return Thing(kind, name, color, size_word(side), *at, round(rng.uniform(-turn, turn), 1), rgb)


def _place(
    rng: random.Random, boxes: list[tuple[float, float]]
) -> list[tuple[float, float]] | None:
    """Centres for boxes (width, height) inside the picture with little overlap, or None."""
    centres: list[tuple[float, float]] = []
    for width, height in boxes:
        for _ in range(40):
            x = rng.uniform(width / 2 - 3, SIZE - width / 2 + 3)
            y = rng.uniform(height / 2 - 3, SIZE - height / 2 + 3)
            if all(
                abs(x - cx) > 0.5 * (width + w) - 3 or abs(y - cy) > 0.5 * (height + h) - 3
                for (cx, cy), (w, h) in zip(centres, boxes, strict=False)
            ):
                centres.append((x, y))
                break
        else:
            return None
    return centres


def _place_always(
    rng: random.Random, boxes: list[tuple[float, float]]
) -> tuple[list[tuple[float, float]], float]:
    """Placement that shrinks everything a little until it fits; returns centres and the factor."""
    factor = 1.0
    while True:
        for _ in range(6):
            centres = _place(rng, [(w * factor, h * factor) for w, h in boxes])
            if centres is not None:
                return centres, factor
        factor *= 0.94


def _single(rng: random.Random, scene: Scene, split: str, objects: str) -> None:
    kind, name, color = sample_kind(rng, scene.background.color, split, objects, set())
    if rng.random() < 0.55 or objects == "few":
        side = rng.uniform(100, 190)
        x, y = (SIZE / 2 + rng.uniform(-1, 1) * (SIZE - side) / 2 for _ in range(2))
    else:  # small, in a region chosen evenly so that every answer to "where" is as likely
        side = rng.uniform(*SMALL)
        column, row = rng.randrange(3), rng.randrange(3)
        bands = (
            (side / 2 + 2, LOW * SIZE),
            (MIDDLE[0] * SIZE, MIDDLE[1] * SIZE),
            (HIGH * SIZE, SIZE - side / 2 - 2),
        )
        x, y = rng.uniform(*bands[column]), rng.uniform(*bands[row])
    if rng.random() < 0.05:  # seldom: cut off by an edge
        x += rng.choice((-1, 1)) * side * 0.25
    scene.things.append(make_thing(rng, kind, name, color, side, min(SIZE - 8, max(8, x)), y))


def _several(rng: random.Random, scene: Scene, split: str, objects: str) -> None:
    count = rng.choices((2, 3, 4, 5), (42, 32, 16, 10))[0]
    taken: set[tuple[str, str]] = set()
    kinds = [sample_kind(rng, scene.background.color, split, objects, taken)]
    while len(kinds) < count:
        if rng.random() < 0.12:
            kinds.append(kinds[-1])
        elif kinds[-1][0] == "shape" and rng.random() < 0.3:  # same shape, another colour
            name = kinds[-1][1]
            color = _pick_color(rng, name, scene.background.color, split, objects)
            if (name, color) not in taken and not (
                split == "train" and held_out_background(name, scene.background.color)
            ):
                taken.add((name, color))
                kinds.append(("shape", name, color))
        else:
            kinds.append(sample_kind(rng, scene.background.color, split, objects, taken))
    large = 0.5 if count < 4 else 0.2
    sides = [rng.uniform(*(LARGE if rng.random() < large else SMALL)) for _ in kinds]
    centres, factor = _place_always(rng, [(s, s) for s in sides])
    for (kind, name, color), side, (x, y) in zip(kinds, sides, centres, strict=True):
        scene.things.append(make_thing(rng, kind, name, color, side * factor, x, y))


def _count(rng: random.Random, scene: Scene, split: str, objects: str) -> None:
    taken: set[tuple[str, str]] = set()
    kinds = [sample_kind(rng, scene.background.color, split, objects, taken)] * rng.randint(2, 9)
    if rng.random() < 0.4:
        other = sample_kind(rng, scene.background.color, split, objects, taken)
        kinds = kinds[:6] + [other] * rng.randint(1, 3)
    side = rng.uniform(COUNTED[0] + 2, COUNTED[1])
    sides = [side * rng.uniform(0.93, 1.0) for _ in kinds]
    centres, factor = _place_always(rng, [(s + 3, s + 3) for s in sides])
    turn = rng.choice((0, 0, 20))  # degrees: all upright, or all a little turned
    for (kind, name, color), side, (x, y) in zip(kinds, sides, centres, strict=True):
        thing = make_thing(rng, kind, name, color, side * factor, x, y)
        thing.angle = round(rng.uniform(-turn, turn) * 0.6, 1)
        scene.things.append(thing)


def sign_text(rng: random.Random) -> str:
    return (
        rng.choice(WORDS)
        if rng.random() < 0.7
        else str(rng.randint(0, 10 ** rng.randint(1, 3) - 1))
    )


def _sign(rng: random.Random, scene: Scene, split: str, objects: str) -> None:
    text = sign_text(rng)
    shown = (text.upper, text.lower, text.capitalize)[rng.randrange(3)]()
    others = rng.choices((0, 1, 2), (45, 40, 15))[0]
    height = rng.uniform(40, 84 if not others else 60)  # plate, pixels; letters fill ~0.7 of it
    width = min(212.0, height * (0.62 * max(2, len(text)) + 0.45))
    taken: set[tuple[str, str]] = set()
    kinds = [sample_kind(rng, scene.background.color, split, objects, taken) for _ in range(others)]
    sides = [rng.uniform(*SMALL) * 1.15 for _ in kinds]
    centres, factor = _place_always(rng, [(width, height)] + [(s, s) for s in sides])
    x, y = centres[0]
    scene.things.append(
        Thing(
            "sign",
            "sign",
            "",
            "large",
            round(x, 1),
            round(y, 1),
            round(width * factor, 1),
            round(rng.uniform(-4, 4) if rng.random() < 0.4 else 0.0, 1),
            (0, 0, 0),
            shown,
            round(height * factor, 1),
            rng.randrange(1 << 16),
        )
    )
    for (kind, name, color), side, (x, y) in zip(kinds, sides, centres[1:], strict=True):
        scene.things.append(make_thing(rng, kind, name, color, side * factor, x, y))


def _plain(rng: random.Random, scene: Scene, split: str, objects: str) -> None:
    """Shapes of every size in the exact colours of CSS on a flat ground, as a program draws them."""
    colors = rng.sample(tuple(CSS), len(CSS))
    ground = "white" if rng.random() < 0.5 else colors[-1]
    shade = rng.choice(CSS[ground])
    scene.background = Background("flat", ground, shade, shade)
    count = rng.choices((1, 2, 3), (76, 15, 9))[0]
    shares = [rng.uniform(0.12, 0.98) if count == 1 else rng.uniform(0.2, 0.5) for _ in range(count)]
    centres, factor = _place_always(rng, [(SIZE * share,) * 2 for share in shares])
    for share, (x, y) in zip(shares, centres, strict=True):
        kept = [s for s in SHAPES if split != "train" or not held_out_background(s, ground)]
        name = rng.choice(kept)
        color = next(c for c in colors if c != ground and not (split == "train" and held_out(name, c)))
        colors.remove(color)
        thing = make_thing(rng, "shape", name, color, SIZE * share * factor, x, y)
        thing.rgb, thing.angle = rng.choice(CSS[color]), 0.0
        scene.things.append(thing)


FILL = {"single": _single, "several": _several, "count": _count, "sign": _sign, DRAWN_BY_CODE: _plain}


def sample_scene(
    rng: random.Random, split: str, objects: str = "all", layout: str | None = None
) -> Scene:
    """One scene of the world.

    Args:
        split: "train" never holds held-out pairs; "dev" and "test" hold them often.
        objects: "all"; "shapes" for the world that needs no emoji font; "few" for one of ten
            shapes, large.
    """
    if split not in ("train", "dev", "test") or objects not in WORLDS:
        raise ValueError(f"no such split or object set: {split!r}, {objects!r}")
    if objects == "few":
        layout = "single"
    layout = layout or rng.choices(LAYOUTS, LAYOUT_WEIGHTS)[0]
    scene = Scene(layout, sample_background(rng, objects), seed=rng.randrange(1 << 30))
    FILL[layout](rng, scene, split, objects)
    if layout == DRAWN_BY_CODE:
        return scene
    scene.noise = round(rng.choice((0.0, rng.uniform(1, 7))), 1)
    scene.blur = round(rng.uniform(0.3, 0.9), 2) if rng.random() < 0.15 else 0.0
    scene.gain = round(rng.uniform(0.92, 1.06), 3)
    return scene


def known_kinds(objects: str) -> list[str]:
    """Names that questions may bring up."""
    return [*shapes_of(objects)] + ([k.name for k in EMOJI_KINDS] if objects == "all" else [])


def same_category(name: str) -> list[str]:
    """Other names of the same category: what a hard negative asks for."""
    return [k.name for k in KINDS.values() if k.category == KINDS[name].category and k.name != name]
