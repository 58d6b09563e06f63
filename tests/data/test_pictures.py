"""How scenes are drawn and framed, what is thought of them, clips, and several pictures at once."""

import random
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageDraw

from data.readers import emoji
from data.readers.cutouts import cut_out
from data.scenes import clips, several
from data.scenes.captions import caption
from data.scenes.clips import CHANGES, Clip, clip_questions, sample_clip
from data.scenes.labels import PLANES
from data.scenes.objects import COLORS, CSS, EMOJI_KINDS, KINDS
from data.scenes.questions import questions
from data.scenes.render import render, render_with_cells
from data.scenes.sampling import sample_scene
from data.scenes.scene import SIZE, Background, Drawing, Scene, Thing
from data.scenes.scoring import score
from data.scenes.several import Several, sample_several, several_questions
from data.scenes.sprites import require_styles
from data.scenes.styles import HELD_OUT, PHOTOGRAPHED, STYLES, draws, dress, facts, grayed
from data.scenes.thinking import scene_thinking
from models.errors import UserError
from models.tokenizer import Tokenizer

FLAT = Background("flat", "white", (250,) * 3, (250,) * 3)


def shape(name: str, color: str, x: float, y: float, side: float = 50.0) -> Thing:
    size = "small" if side < 67 else "large"
    return Thing("shape", name, color, size, x, y, side, rgb=COLORS[color])


def dressed(index: int, split: str = "train", objects: str = "all") -> tuple[random.Random, Scene]:
    rng = random.Random(f"pictures-{index}")
    return rng, dress(sample_scene(rng, split, objects), rng)


def test_thoughts_name_everything_in_reading_order():
    stripes = Background("stripes", "blue", (40, 92, 220), (40, 92, 220))
    sign = Thing("sign", "sign", "", "large", 100, 112, 120.0, text="STOP", height=40.0)
    things = [
        shape("circle", "red", 190, 200), shape("circle", "green", 40, 30, 80.0),
        shape("circle", "red", 112, 20, 80.0), sign,
    ]
    assert scene_thinking(Scene("several", stripes, things)) == (
        "On striped blue: large red circle e1 small g8 two, large green circle b2, sign stop d5. Four."
    )
    assert scene_thinking(Scene("plain", FLAT)) == "On white: nothing."


def test_a_square_tells_the_region_wherever_it_is_asked_for():
    seen: dict[str, set[str]] = {}
    for i in range(800):
        _, scene = dressed(i)
        for thing in scene.things:
            region = scene.region(thing)
            if region:
                seen.setdefault(scene.square(thing), set()).add(region)
    assert len(seen) == 64 and all(len(regions) == 1 for regions in seen.values())


def test_thoughts_are_short():
    tokenizer = Tokenizer("checkpoints/thinker_tiny/tokenizer.model")
    pictures = [len(tokenizer.encode(scene_thinking(dressed(i)[1]))) for i in range(150)]
    told = [clips.thinking(sample_clip(random.Random(i), "train")) for i in range(60)]
    assert np.percentile(pictures, 97) <= 40 and np.mean(pictures) < 24
    assert max(len(tokenizer.encode(text)) for text in told) < 60


def test_no_training_picture_is_in_the_held_out_style():
    assert HELD_OUT not in STYLES and HELD_OUT in facts()
    used = Counter(t.drawing.style for i in range(600) for t in dressed(i)[1].objects() if t.kind == "emoji")
    assert set(used) == set(STYLES)
    for i in range(300):
        for thing in dressed(i)[1].objects():
            assert thing.kind == "shape" or draws(thing.drawing.style, thing.name)


def test_colours_that_a_drawing_does_not_show_are_not_asked():
    for i in range(600):
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
            words = set(" ".join(said).lower().replace(".", " ").replace("?", " ").split())
            assert not words & (set(COLORS) - {"gray"}), said


@pytest.mark.parametrize("style", list(emoji.SOURCES))
def test_the_recorded_facts_of_a_style_are_those_of_its_drawings(style):
    if not emoji.available(style):
        pytest.skip(f"no drawings: {emoji.HINT}")
    assert emoji.facts_of(style) == facts()[style]


def test_missing_drawings_are_one_line(monkeypatch):
    monkeypatch.setattr("data.scenes.sprites.available", lambda style: False)
    with pytest.raises(UserError, match="fxemoji.*data.readers.emoji"):
        require_styles(("fxemoji",))


def test_a_sprite_file_gives_back_what_was_put_in(tmp_path):
    red, blue = (Image.new("RGBA", (9, 5), color) for color in ("red", "blue"))
    emoji.save_sprites(tmp_path / "a.npz", ["dog", "cat", "dog"], [red, blue, blue])
    sprites = emoji.SpriteFile(tmp_path / "a.npz")
    assert sprites.variants("dog") == 2 and sprites.variants("cow") == 0
    assert sprites.get("dog", 2).tobytes() == red.tobytes() != sprites.get("dog", 1).tobytes()
    (tmp_path / "b.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match="cannot read drawings"):
        emoji.SpriteFile(tmp_path / "b.npz")


def test_things_are_cut_out_of_even_grounds_only():
    photo = Image.new("RGB", (32, 32), (240, 238, 235))
    ImageDraw.Draw(photo).ellipse((8, 8, 24, 24), fill=(200, 30, 30))
    cut = cut_out(photo)
    pixels = np.asarray(cut)
    assert pixels[pixels.shape[0] // 2, pixels.shape[1] // 2].tolist()[3] == 255
    assert pixels[0, 0, 3] < 40 and cut.width == pytest.approx(cut.height, abs=3)
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    assert cut_out(Image.fromarray(noise)) is None


def test_every_photographed_thing_is_of_this_world():
    assert set(PHOTOGRAPHED.values()) <= {kind.name for kind in EMOJI_KINDS}


def test_plain_shapes_have_the_exact_colours_of_css():
    found = Counter()
    for i in range(150):
        scene = sample_scene(random.Random(i), "test", layout="plain")
        image = render(scene)
        for thing in scene.things:
            if thing.name != "ring":  # which is empty in the middle
                x, y = (int(at - start) for at, start in zip((thing.x, thing.y), scene.frame, strict=False))
                assert image.getpixel((x, y)) == CSS[thing.color], thing
                found[thing.color] += 1
    assert set(found) == set(CSS) and CSS["blue"] == (0, 0, 255) and CSS["green"] == (0, 128, 0)


def test_wide_pictures_have_their_own_shape_and_cells_of_the_square():
    scene = Scene("plain", FLAT, [shape("circle", "red", 56, 112, 40)], frame=(0, 84, SIZE, 140))
    image, cells = render_with_cells(scene)
    assert image.size == (224, 56) and image.getpixel((56, 28)) == COLORS["red"]
    rows, columns = np.nonzero(cells[PLANES.index("object")])
    assert set(rows) <= {2, 3, 4} and set(columns) <= {0, 1, 2} and (3, 1) in set(zip(rows, columns, strict=True))
    assert scene.region(scene.things[0]) == "left"
    shapes = [sample_scene(random.Random(i), "train", layout="plain") for i in range(300)]
    assert max(s.width / s.height for s in shapes) > 5 and max(s.height / s.width for s in shapes) > 5
    for s in shapes:
        for thing in s.things:
            assert s.frame[0] - 8 <= thing.x <= s.frame[2] + 8 and s.frame[1] - 8 <= thing.y <= s.frame[3] + 8


def test_insets_shrink_things_and_borders_and_gray_do_what_they_say():
    kinds = Counter()
    for i in range(500):
        _, scene = dressed(i, objects="shapes")
        if scene.inset:
            kinds["inset"] += 1
            assert all(scene.inset.x - 6 <= t.x <= scene.inset.x + scene.inset.side + 6 for t in scene.things)
            assert not scene.background.color
        if scene.gray:
            kinds["gray"] += 1
            pixels = np.asarray(render(scene), int)
            assert np.abs(pixels - pixels.mean(2, keepdims=True)).mean() < 8
        if scene.border and not scene.gray:
            kinds["border"] += 1
    assert min(kinds[k] for k in ("inset", "gray", "border")) >= 5


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
    assert (pixels(shadow=True).sum(2) < same.sum(2) - 20).sum() > 200
    darker = pixels(shade=0.5)
    assert darker[140:150, 130:150].sum() < same[140:150, 130:150].sum()


def test_clip_thoughts_tell_movement_from_growth_and_appearing_from_vanishing():
    here = [shape("circle", "red", x, 40) for x in (40, 100, 170)]
    move = Clip("right", 0, [Scene("several", FLAT, [t]) for t in here])
    assert clips.thinking(move) == "Small red circle b2 d2 g2. The red circle moves to the right."
    tree = shape("star", "blue", 112, 112, 100)
    grown = [shape("star", "blue", 112, 112, s) for s in (50, 60, 90)]
    grow = Clip("grows", 0, [Scene("several", FLAT, [t]) for t in grown])
    assert clips.thinking(grow) == "Small blue star e5 e5 large e5. The blue star grows."
    frames = [Scene("several", FLAT, [tree]), Scene("several", FLAT, [here[0], tree])]
    assert clips.thinking(Clip("appears", 0, frames)) == (
        "Red circle gone small b2; large blue star e5 e5. A red circle appears."
    )
    assert clips.thinking(Clip("disappears", 0, frames[::-1])) == (
        "Small red circle b2 gone; large blue star e5 e5. The red circle disappears."
    )


def test_clips_of_each_change_differ_in_their_thoughts_as_they_should():
    for change in CHANGES:
        for seed in range(12):
            clip = sample_clip(random.Random(seed), "train", change=change)
            assert Clip.from_dict(clip.to_dict()) == clip
            first, last = ([track[end] for track in clip.tracks()] for end in (0, -1))
            moved = [
                i for i, (a, b) in enumerate(zip(first, last, strict=True))
                if a and b and clip.frames[0].square(a) != clip.frames[-1].square(b)
            ]
            sized = [i for i, (a, b) in enumerate(zip(first, last, strict=True)) if a and b and a.size != b.size]
            gone = [i for i, (a, b) in enumerate(zip(first, last, strict=True)) if (a is None) != (b is None)]
            wanted = {"moved": moved, "sized": sized, "gone": gone}
            kind = {"grows": "sized", "shrinks": "sized", "appears": "gone", "disappears": "gone",
                    "turns": "", "still": ""}.get(change, "moved")
            for name, found in wanted.items():
                assert found == ([clip.thing] if name == kind else []), (change, seed, name)
            for q in clip_questions(clip, random.Random(seed), "train"):
                assert score(q["answer"], q) and not score("I don't know.", q)


def test_questions_about_several_pictures_follow_from_them():
    kinds = Counter()
    answers = Counter()
    for i in range(400):
        rng = random.Random(i)
        pictures = sample_several(rng, "train")
        assert Several.from_dict({"scenes": [s.to_dict() for s in pictures.scenes],
                                  "difference": pictures.difference}) == pictures
        for q in several_questions(pictures, rng, "train"):
            kinds[q["kind"]] += 1
            assert score(q["answer"], q) and not score("I don't know.", q), q
            if q["kind"] == "which":
                answers[q["answer"]] += 1
            if q["kind"] == "which" and "more" not in q["question"]:
                has = [any(f" {p}" in q["question"] for p in several._phrases(s)) for s in pictures.scenes]
                if q["answer"] in ("Both.", "The first.", "The second."):
                    assert any(has)
        text = several.thinking(pictures)
        assert text.count("Picture ") == len(pictures.scenes)
    assert min(kinds[k] for k in ("which", "difference", "exists", "color", "count")) > 20
    assert 0.6 < answers["The first."] / answers["The second."] < 1.6 and answers["Neither."] > 15


@pytest.mark.parametrize(
    ("kind", "right", "answer", "scored"),
    [
        ("which", "The first.", "The first picture has a dog.", True),
        ("which", "The first.", "Picture 1.", True),
        ("which", "The first.", "The second.", False),
        ("which", "Both.", "The first and the second.", True),
        ("which", "Both.", "The first.", False),
        ("which", "Neither.", "None of them.", True),
        ("difference", "The dog is missing in the second picture.", "The dog is gone.", True),
        ("difference", "The dog is missing in the second picture.", "The cat is missing.", False),
        ("difference", "The dog is bigger in the second picture.", "The dog is smaller.", False),
        ("difference", "Nothing is different.", "They are the same.", True),
        ("difference", "The star is red in the first picture and blue in the second.",
         "The star is red in the first picture and green in the second.", False),
        ("color", "Navy.", "Navy blue.", True),
        ("color", "Navy.", "Blue.", False),
        ("color", "Aqua.", "It is cyan.", True),
        ("color", "Lime.", "Green.", False),
    ],
)
def test_scoring_of_pictures_and_colours(kind, right, answer, scored):
    assert score(answer, {"kind": kind, "answer": right}) is scored


def test_a_picture_is_the_same_on_every_machine_and_order():
    _, scene = dressed(3, objects="shapes")
    again = Scene.from_dict(scene.to_dict())
    assert again == scene and render(again).tobytes() == render(scene).tobytes()
    grayed(again)
    assert again.things[0].color == "" and scene_thinking(again).startswith("In gray")
