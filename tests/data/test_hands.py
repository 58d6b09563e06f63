"""Drawings as other hands would have drawn them: what changes, what stays, and what is still true."""

import random

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.scenes.hands import OTHER_COLORS, WAYS, bent, redrawn
from data.scenes.sampling import make_thing
from data.scenes.scene import Background, Drawing, Scene
from data.scenes.styles import draw_things


def face() -> Image.Image:
    image = Image.new("RGBA", (96, 96), (128, 128, 128, 0))
    draw = ImageDraw.Draw(image)
    draw.ellipse((1, 1, 94, 94), fill=(240, 200, 40, 255))
    draw.ellipse((25, 30, 40, 45), fill=(30, 30, 120, 255))
    return image


def ink(image: Image.Image) -> float:
    return float((np.asarray(image)[..., 3] > 127).mean())


def colors(image: Image.Image) -> set[tuple[int, ...]]:
    pixels = np.asarray(image)
    return {tuple(c) for c in pixels[pixels[..., 3] > 127][:, :3].tolist()}


def test_bent_drawings_keep_their_parts_and_nothing_is_cut_off():
    seen = set()
    for seed in range(1, 20):
        image = bent(face(), seed)
        seen.add(image.tobytes())
        assert image.size == (96, 96) and 0.6 < ink(image) / ink(face()) < 1.1
        rim = np.concatenate([np.asarray(image)[edge, :, 3] for edge in (0, -1)])
        assert (rim > 127).mean() < 0.35
    assert len(seen) == 19 and bent(face(), 3).tobytes() == bent(face(), 3).tobytes()


@pytest.mark.parametrize("way", WAYS)
def test_a_redrawn_thing_has_the_same_outline(way):
    images = [redrawn(face(), way, seed) for seed in range(6)]
    assert all(abs(ink(image) - ink(face())) < 0.05 for image in images)
    if way != "flat":  # which has two colours here, whatever the seed
        assert len({image.tobytes() for image in images}) == 6
    kept = (240, 200, 40) in colors(images[0])
    assert kept == (way not in OTHER_COLORS)


def test_lines_are_dark_on_one_light_colour():
    for seed in range(4):
        found = sorted(sum(color) for color in colors(redrawn(face(), "lines", seed)))
        assert len(found) == 2 and found[0] <= 210 < 450 <= found[1]


def test_what_another_hand_painted_has_no_colour_to_ask_about():
    ground, ways = Background("flat", "white", (250,) * 3, (250,) * 3), []
    for seed in range(200):
        rng = random.Random(seed)
        thing = make_thing(rng, "emoji", "dog", "brown", 90, 112, 112)
        shape = make_thing(rng, "shape", "circle", "red", 50, 40, 40)
        draw_things(Scene("several", ground, [thing, shape]), rng, ("noto",))
        ways.append(thing.drawing.redrawn)
        assert not (thing.drawing.redrawn in OTHER_COLORS and thing.color)
        assert shape.color == "red" and not shape.drawing.bend and not shape.drawing.redrawn
    assert 40 < sum(map(bool, ways)) < 160 and set(ways) == {"", *WAYS}
    assert Drawing().redrawn == ""
