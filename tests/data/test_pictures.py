"""How scenes are drawn: several artists, recoloured things, busy grounds, cut-outs of photographs."""

import random
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.readers import drawings, emoji
from data.readers.cutouts import build_cutouts, cut_out
from data.scenes.build import SPOKEN, MakeScene, build_pictures
from data.scenes.captions import caption
from data.scenes.objects import COLORS, CSS, EMOJI_KINDS, KINDS, held_out_background
from data.scenes.questions import questions
from data.scenes.render import render, render_with_cells
from data.scenes.sampling import sample_scene
from data.scenes.scene import Background, Drawing, Scene, Thing
from data.scenes.sprites import require_styles
from data.scenes.styles import (
    HELD_OUT,
    PHOTOGRAPHED,
    STYLES,
    draws,
    dress,
    facts,
    for_training,
    grayed,
)
from data.scenes.thinking import scene_thinking
from models.errors import UserError
from tests.fixtures.photos import write_photos
from training.config import load_preset

FLAT = Background("flat", "white", (250,) * 3, (250,) * 3)


def shape(name: str, color: str, x: float, y: float, side: float = 50.0) -> Thing:
    size = "small" if side < 67 else "large"
    return Thing("shape", name, color, size, x, y, side, rgb=COLORS[color])


def dressed(index: int, split: str = "train", objects: str = "all") -> tuple[random.Random, Scene]:
    rng = random.Random(f"pictures-{index}")
    return rng, dress(sample_scene(rng, split, objects), rng, STYLES)


def test_no_training_picture_is_in_the_held_out_style():
    assert HELD_OUT not in STYLES and HELD_OUT in facts() and HELD_OUT in emoji.SOURCES
    used = Counter(t.drawing.style for i in range(250) for t in dressed(i)[1].objects() if t.kind == "emoji")
    assert set(used) == set(STYLES)
    for i in range(100):
        for thing in dressed(i)[1].objects():
            assert thing.kind == "shape" or draws(thing.drawing.style, thing.name)
    with pytest.raises(UserError, match="emojione is held out"):
        for_training({"styles": [HELD_OUT, "noto"]})


def test_tiny_has_several_styles_and_nano_needs_none():
    for stage in ("vision", "omni"):
        assert set(for_training(load_preset("tiny")[stage]["data"])) == set(STYLES)
        assert for_training(load_preset("nano")[stage]["data"]) == ()


def test_colours_that_a_drawing_does_not_show_are_not_asked():
    for i in range(200):
        rng, scene = dressed(i)
        for thing in scene.objects():
            drawing = thing.drawing
            if thing.kind == "emoji" and thing.color:
                assert thing.color == KINDS[thing.name].color and not scene.gray
                assert drawing.style == "noto" or thing.name not in facts()[drawing.style]["recoloured"]
                assert abs(drawing.hue) < 10 and drawing.style not in ("photo", "openmoji_line")
        if scene.gray:
            said = [caption(scene, rng, "train"), scene_thinking(scene)]
            said += [q["question"] + q["answer"] for q in questions(scene, rng, "train")]
            signs = {t.text.lower() for t in scene.things}
            words = set(" ".join(said).lower().replace(".", " ").replace("?", " ").split())
            assert not words & (set(COLORS) - signs), said


def test_spoken_questions_stay_true_in_every_style():
    """They are drawn from the plain world; the pictures that they are about are in several styles."""
    plain, several = MakeScene(1, "train"), MakeScene(1, "train", styles=STYLES)
    others = 0
    for index in range(60):
        (_, one), (scene, other) = plain.describe(index), several.describe(index)
        assert one["questions"] == other["questions"] and one["captions"] == other["captions"]
        others += any(t.drawing != Drawing() for t in scene.objects())
    assert others > 30


@pytest.mark.parametrize("style", list(emoji.SOURCES))
def test_the_recorded_facts_of_a_style_are_those_of_its_drawings(style):
    if not drawings.available(style):
        pytest.skip(f"no drawings: {drawings.HINT}")
    assert {key: tuple(names) for key, names in emoji.facts_of(style).items()} == facts()[style]


def test_missing_drawings_are_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("data.readers.drawings.FOLDER", tmp_path)
    with pytest.raises(UserError, match="fluent_flat.*fxemoji.*python -m data.readers.emoji") as error:
        require_styles(STYLES)
    assert "\n" not in str(error.value)
    # Shapes need no drawings.
    build_pictures(tmp_path / "shapes", 2, 1, "train", objects="shapes", workers=1, styles=STYLES)


def test_a_sprite_file_gives_back_what_was_put_in(tmp_path):
    red, blue = (Image.new("RGBA", (9, 5), color) for color in ("red", "blue"))
    drawings.save_sprites(tmp_path / "a.npz", ["dog", "cat", "dog"], [red, blue, blue])
    sprites = drawings.SpriteFile(tmp_path / "a.npz")
    assert sprites.variants("dog") == 2 and sprites.variants("cow") == 0
    assert sprites.get("dog", 2).tobytes() == red.tobytes() != sprites.get("dog", 1).tobytes()
    (tmp_path / "b.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match="cannot read drawings"):
        drawings.SpriteFile(tmp_path / "b.npz")


def test_things_are_cut_out_of_even_grounds_only():
    photo = Image.new("RGB", (32, 32), (240, 238, 235))
    ImageDraw.Draw(photo).ellipse((8, 8, 24, 24), fill=(200, 30, 30))
    cut = cut_out(photo)
    pixels = np.asarray(cut)
    assert pixels[pixels.shape[0] // 2, pixels.shape[1] // 2].tolist()[3] == 255
    assert pixels[0, 0, 3] < 40 and cut.width == pytest.approx(cut.height, abs=3)
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    assert cut_out(Image.fromarray(noise)) is None


@pytest.mark.parametrize("others", [[(1, 1, 7, 7)], [(0, 20, 12, 31), (20, 20, 31, 31)]])
def test_what_does_not_hang_together_or_is_cropped_is_not_cut_out(others):
    photo = Image.new("RGB", (32, 32), (240, 238, 235))
    drawn = ImageDraw.Draw(photo)
    drawn.ellipse((9, 9, 22, 22), fill=(200, 30, 30))
    drawn.point((3, 28), fill=(0, 0, 0))
    assert cut_out(photo).width == cut_out(photo).height  # a speck is left out
    for box in others:
        drawn.rectangle(box, fill=(200, 30, 30))
    assert cut_out(photo) is None


def test_some_pictures_of_training_hold_cut_outs_and_shapes_alone():
    styles = ("noto", "photo")
    drawn = {split: Counter() for split in ("train", "dev")}
    for split, kinds in drawn.items():
        make = MakeScene(1, split, styles=styles)
        for index in range(SPOKEN, SPOKEN + 400):
            scene, _ = make.describe(index)
            emoji = [thing for thing in scene.things if thing.kind == "emoji"]
            names = {thing.name for thing in emoji}
            if names and all(thing.drawing.style == "photo" for thing in emoji):
                kinds[len(names) > 1] += 1
                assert names <= set(PHOTOGRAPHED.values()) and not any(thing.color for thing in emoji)
                ground = scene.background.color
                assert split != "train" or not any(held_out_background(name, ground) for name in names)
    assert drawn["train"][True] > 5 > drawn["dev"][True]


def test_every_photographed_thing_is_of_this_world():
    assert set(PHOTOGRAPHED.values()) <= {kind.name for kind in EMOJI_KINDS}


def test_cut_outs_are_made_where_photographs_are(monkeypatch, tmp_path):
    monkeypatch.setattr("data.readers.drawings.FOLDER", tmp_path / "sprites")
    photos = []
    for i in range(40):
        photo = Image.new("RGB", (32, 32), (240, 238, 235))
        ImageDraw.Draw(photo).ellipse((8, 8, 24, 24), fill=(200, 3 * i, 30))
        photos.append(photo)
    write_photos(tmp_path, "cifar10", photos, [i % 2 for i in range(40)], ["dog", "nothing"])
    build_cutouts(tmp_path, "train")
    made = drawings.SpriteFile(drawings.path_of("photo_train"))
    assert made.variants("dog") > 10 and set(made.places) <= {"dog", "ground"}


def test_plain_shapes_have_the_exact_colours_of_css():
    found = Counter()
    for i in range(120):
        scene = sample_scene(random.Random(i), "test", layout="plain")
        image = render(scene)
        for thing in scene.things:
            if thing.name != "ring":  # which is empty in the middle
                color = image.getpixel((int(thing.x), int(thing.y)))
                assert color in CSS[thing.color], thing
                found[color] += 1
    assert set(found) == {color for shades in CSS.values() for color in shades}
    assert CSS["blue"][0] == (0, 0, 255) and CSS["green"][0] == (0, 128, 0)


def test_insets_shrink_things_and_borders_and_gray_do_what_they_say():
    kinds = Counter()
    for i in range(200):
        _, scene = dressed(i, objects="shapes")
        if scene.inset:
            kinds["inset"] += 1
            left, right = scene.inset.x - 6, scene.inset.x + scene.inset.side + 6
            assert all(left <= t.x <= right for t in scene.things) and not scene.background.color
            _, cells = render_with_cells(scene)
            assert (cells[0] > 0).sum() >= len({(t.x // 32, t.y // 32) for t in scene.things})
        if scene.gray:
            kinds["gray"] += 1
            pixels = np.asarray(render(scene), int)
            assert np.abs(pixels - pixels.mean(2, keepdims=True)).mean() < 8
        if scene.border and not scene.gray:
            kinds["border"] += 1
    assert min(kinds[k] for k in ("inset", "gray", "border")) >= 3


def test_drawings_are_changed_as_a_scene_says():
    plain = Scene("single", FLAT, [shape("arrow", "red", 112, 112, 100)])

    def pixels(**changes) -> np.ndarray:
        scene = Scene.from_dict(plain.to_dict())
        scene.things[0].drawing = Drawing(**changes)
        return np.asarray(render(scene), int)

    same = pixels()
    assert (pixels() == same).all()
    mirrored = pixels(mirror=True)
    assert np.abs(mirrored[:, 10:-10] - same[:, ::-1][:, 10:-10]).mean() < 3 < np.abs(mirrored - same).mean()
    assert (pixels(outline="black") < 60).all(2).sum() > 50
    flat, narrow = (np.nonzero((pixels(squeeze=s) != same[0, 0]).any(2)) for s in (1.3, 1 / 1.3))
    assert np.ptp(flat[0]) < np.ptp(narrow[0]) and np.ptp(flat[1]) > np.ptp(narrow[1])
    assert (pixels(shadow=True).sum(2) < same.sum(2) - 20).sum() > 200
    darker = pixels(shade=0.5)
    assert darker[140:150, 130:150].sum() < same[140:150, 130:150].sum()


def test_a_picture_is_the_same_on_every_machine_and_order():
    _, scene = dressed(3, objects="shapes")
    again = Scene.from_dict(scene.to_dict())
    assert again == scene and render(again).tobytes() == render(scene).tobytes()
    grayed(again)
    assert again.things[0].color == "" and scene_thinking(again).startswith("On a colorless background")
