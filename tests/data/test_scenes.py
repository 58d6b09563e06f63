"""The picture world: determinism, answers against the scene graph, splits, balance, labels."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from data.scenes.build import MakeClip, MakeScene
from data.scenes.captions import caption, scene_groups, score_caption
from data.scenes.clips import clip_questions, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.labels import PLANES, label_vocab
from data.scenes.objects import COLORS, KINDS, SHAPES, held_out, held_out_background
from data.scenes.paraphrases import ASK, FURTHER
from data.scenes.photos import CAPTION, CHECK, DETAIL, NAME
from data.scenes.questions import questions
from data.scenes.render import LETTERS, letter_labels, render, render_with_cells, sign_font
from data.scenes.sampling import sample_scene
from data.scenes.scene import REGIONS, Background, Scene, Thing
from data.scenes.scoring import score
from data.scenes.sights import CELL
from data.scenes.sprites import EMOJI_FONT, emoji_available, require_emoji
from data.shards import ShardReader, generate, note_maker
from data.speech.asr_corpus import HearingMaker
from models.errors import UserError
from tests.fixtures.wordings import plain

needs_emoji = pytest.mark.skipif(
    not emoji_available(), reason=f"no {EMOJI_FONT} (Debian package fonts-noto-color-emoji)"
)
FONTLESS = "shapes"


def scenes(count: int, split: str, objects: str = "all") -> list[tuple[random.Random, Scene]]:
    out = []
    for i in range(count):
        rng = random.Random(f"test-{split}-{i}")
        out.append((rng, sample_scene(rng, split, objects)))
    return out


def two_things() -> Scene:
    """A red circle left of and bigger than a blue star, both clear of every borderline."""
    return Scene(
        "several",
        Background("flat", "white", (250,) * 3, (240,) * 3),
        [
            Thing("shape", "circle", "red", "large", 60, 112, 90, rgb=COLORS["red"]),
            Thing("shape", "star", "blue", "small", 176, 112, 50, rgb=COLORS["blue"]),
        ],
    )


def test_same_seed_same_bytes(tmp_path):
    make = MakeScene(7, "train", FONTLESS)
    for name in ("one", "two"):
        generate(tmp_path / name, make, 6, shard_size=3, workers=1)
    for file in sorted((tmp_path / "one").iterdir()):
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    assert MakeScene(8, "train", FONTLESS)(0)[1]["image"] != make(0)[1]["image"]
    assert MakeScene(7, "dev", FONTLESS)(0)[1]["image"] != make(0)[1]["image"]


def test_data_of_other_settings_is_refused_and_kept(tmp_path):
    generate(tmp_path, MakeScene(7, "train", FONTLESS), 2, workers=1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for make in (MakeScene(7, "train", FONTLESS, "single"), MakeScene(8, "train", FONTLESS)):
        with pytest.raises(UserError, match="remove it, or name another --data_dir"):
            generate(tmp_path, make, 2, workers=1)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    generate(tmp_path, MakeScene(7, "train", FONTLESS), 3, workers=1)
    assert len(ShardReader(tmp_path)) == 3


def test_a_folder_of_texts_may_lie_elsewhere_another_day(tmp_path):
    one, two = (HearingMaker(1, "dev", folder) for folder in ("/here", "/there"))
    note_maker(tmp_path, one)
    note_maker(tmp_path, two)
    with pytest.raises(UserError, match="folder True, not False"):
        note_maker(tmp_path, HearingMaker(1, "dev"))


def test_record_of_a_scene_reads_back(tmp_path):
    generate(tmp_path, MakeScene(1, "dev", FONTLESS), 2, workers=1)
    item = ShardReader(tmp_path)[1]
    assert item["image"][:2] == b"\xff\xd8"  # JPEG
    assert item["cells"].shape == (len(PLANES), 7, 7)
    scene = Scene.from_dict(item["scene"])
    assert scene.to_dict()["things"][0]["name"] == item["scene"]["things"][0]["name"]
    assert len(item["captions"]) == 2 and 1 <= len(item["questions"]) <= 8


@pytest.mark.parametrize("split", ["train", "dev"])
def test_reference_answers_are_right_and_wrong_ones_wrong(split):
    for rng, scene in scenes(300, split):
        for question in questions(scene, rng, split) + sum(follow_ups(scene, rng), []):
            assert score(question["answer"], question), question
            assert not score("I do not know.", question), question
        for _ in range(2):
            assert score_caption(caption(scene, rng, split), scene_groups(scene))


def test_answers_follow_from_the_scene():
    for rng, scene in scenes(400, "train"):
        groups = {g[0].key: len(g) for g in scene.groups().values()}
        for q in questions(scene, rng, "train"):
            text = q["question"].lower().replace("colour", "color")
            if q["kind"] == "read":
                assert q["answer"].lower() == scene.things[0].text.lower() + "."
            elif q["kind"] == "color" and "background" in text:
                assert q["answer"][:-1].lower() == scene.background.color
            elif q["kind"] == "where":
                assert q["answer"][:-1].lower() in REGIONS
                named = [t for t in scene.things if t.name in text]
                assert q["answer"][:-1].lower() in {t.region for t in named}
            elif q["kind"] == "count" and ("object" in text or "thing" in text):
                assert score(str(len(scene.things)), q)
            elif q["kind"] in ("list", "caption"):
                assert {(g[0], g[1] or g[3]): g[2] for g in q["things"]} == {
                    (
                        name,
                        extra.lower() if name == "sign" or KINDS[name].category == "shape" else "",
                    ): n
                    for (name, extra), n in groups.items()
                }


def test_relations_and_sizes_of_a_known_scene():
    seen = Counter()
    for seed in range(60):
        for q in questions(two_things(), random.Random(seed), "dev", FONTLESS):
            text = q["question"].lower()
            if q["kind"] == "relation" and q["answer"] in ("Yes.", "No."):
                circle_first = text.index("circle") < text.index("star")
                assert ("left" in text) == circle_first or q["answer"] == "No.", q
                assert "above" not in text and "below" not in text
                seen["yes or no"] += 1
            elif q["kind"] == "relation":
                assert q["answer"] == ("A red circle." if "left of" in text else "A blue star.")
                seen["what"] += 1
            elif q["kind"] == "compare":
                bigger = "bigger" in text or "larger" in text
                assert q["answer"] == ("The red circle." if bigger else "The blue star.")
                seen["compare"] += 1
    assert min(seen[k] for k in ("yes or no", "what", "compare")) > 20


def test_held_out_pairs_are_never_in_training_and_often_in_tests():
    def shapes(split):
        return [(t.name, t.color) for _, s in scenes(1500, split, FONTLESS) for t in s.objects()]

    assert 5 <= sum(held_out(s, c) for s in SHAPES for c in COLORS) <= 25
    assert not any(held_out(*pair) for pair in shapes("train"))
    assert sum(held_out(*pair) for pair in shapes("test")) > 50
    for _, scene in scenes(1500, "train"):
        for thing in scene.objects():
            assert not held_out_background(thing.name, scene.background.color)
    for i in range(100):
        clip = sample_clip(random.Random(i), "train", FONTLESS)
        for frame in clip.frames:
            assert not any(held_out(t.name, t.color) for t in frame.objects())


def test_held_out_wordings_are_never_in_training():
    held = {t for _, late in ASK.values() for t in late if "{" not in t}
    early = {t for first, _ in ASK.values() for t in first}
    assert not held & early
    assert all(len(first) >= 8 and late for first, late in ASK.values())
    asked = {
        q["question"].replace("colour", "color")
        for rng, s in scenes(600, "train")
        for q in questions(s, rng, "train")
    }
    assert not asked & held


def test_further_wordings_fit_and_repeat_none_that_is_held_out():
    photos = {"photo_name": NAME, "photo_caption": CAPTION, "photo_check": CHECK, "photo_detail": DETAIL}
    lists = ASK | photos
    assert set(FURTHER) <= set(lists)
    places = {word: word for word in ("x", "y", "xs", "ys", "ax", "r", "v")}

    for kind, wordings in FURTHER.items():
        given, held = lists[kind]
        assert not {plain(w) for w in wordings} & {plain(w) for w in held}
        for phrase in wordings:
            assert phrase.format(**places)
            assert set(re.findall("{.*?}", phrase)) == set(re.findall("{.*?}", given[0])), phrase


def test_yes_and_no_are_balanced():
    told = Counter()
    for rng, scene in scenes(1200, "train"):
        for q in questions(scene, rng, "train"):
            if q["answer"] in ("Yes.", "No.") and q["kind"] != "read":
                told[q["kind"], q["answer"]] += 1
    for kind in ("exists", "relation", "compare"):
        share = told[kind, "Yes."] / (told[kind, "Yes."] + told[kind, "No."])
        assert 0.4 < share < 0.6, (kind, share)


def cell_labels(scene: Scene) -> dict[str, np.ndarray]:
    """Plane name -> int16 (7, 7)."""
    return dict(zip(PLANES, render_with_cells(scene)[1], strict=True))


def test_cell_labels_align_with_boxes():
    vocab = label_vocab()
    for _, scene in scenes(60, "train", FONTLESS):
        labels = cell_labels(scene)
        assert all(labels[p].max() < len(vocab[p]) for p in PLANES)
        for row, column in np.argwhere(labels["object"] > 0):
            name = vocab["object"][labels["object"][row, column]]
            cell = (column * CELL, row * CELL, (column + 1) * CELL, (row + 1) * CELL)
            assert any(
                t.name == name
                and t.box[0] - 12 < cell[2]
                and cell[0] < t.box[2] + 12
                and t.box[1] - 12 < cell[3]
                and cell[1] < t.box[3] + 12
                for t in scene.things
            )
        for thing in scene.things:
            row, column = min(6, int(thing.y // CELL)), min(6, int(thing.x // CELL))
            assert labels["centre"][row, column] == 1
    labels = cell_labels(two_things())
    assert vocab["color"][labels["color"][3, 1]] == "red"
    assert vocab["size"][labels["size"][3, 5]] == "small"
    assert labels["object"][0, 3] == 0


def test_number_signs_are_labelled_digit_by_digit():
    scene = two_things()
    scene.things = [Thing("sign", "sign", "", "large", 112, 112, 150, text="42", height=70)]
    labels, vocab = cell_labels(scene), label_vocab()
    assert vocab["sign"][labels["sign"][3, 3]] == "<number>"
    read = [vocab[p][labels[p][3, 3]] for p in ("digit_hundreds", "digit_tens", "digit_ones")]
    assert read == ["", "4", "2"]


def test_pixels_show_the_shape_where_the_scene_says():
    pixels = np.asarray(render(two_things()), int)
    assert abs(pixels[112, 60] - np.array(COLORS["red"])).max() < 20
    assert abs(pixels[112, 176] - np.array(COLORS["blue"])).max() < 20


@pytest.mark.parametrize(
    ("answer", "right"),
    [("two", True), ("There are 2 dogs.", True), ("Three.", False), ("2", True), ("", False),
     ("Two or three.", False)],
)
def test_counts_are_scored_in_words_or_digits(answer, right):
    assert score(answer, {"kind": "count", "answer": "Two."}) is right


def test_yes_and_no_at_once_is_neither():
    asked = {"kind": "exists", "answer": "Yes."}
    assert score("Yes, there is.", asked) and not score("Yes and no.", asked) and not score("No.", asked)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("A dog.", True),
        ("dog", True),
        ("It is a dog!", True),
        ("A cat.", False),
        ("A dog and a cat.", False),
        ("A teddy bear.", False),
    ],
)
def test_things_are_scored_by_name(answer, right):
    asked = {"kind": "what", "question": "What is this?", "answer": "A dog.", "accept": ["dog"]}
    assert score(answer, asked) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [("The red circle.", True), ("The circle.", False), ("The blue one.", False), ("A red square.", False)],
)
def test_of_two_alike_the_colour_tells_which(answer, right):
    question = "Which is bigger, the red circle or the blue circle?"
    asked = {"kind": "compare", "question": question, "answer": "The red circle.", "accept": ["circle"]}
    assert score(answer, asked) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [("In the upper left corner.", True), ("left top", True), ("Left.", False), ("Top.", False)],
)
def test_places_are_scored_in_any_order(answer, right):
    assert score(answer, {"kind": "where", "answer": "Top left."}) is right


def test_captions_must_name_everything_and_nothing_else():
    groups = [["dog", "", 2, ""], ["circle", "red", 1, ""], ["sign", "", 1, "cat"]]
    assert score_caption("Two dogs, a big red circle and a sign that says cat on gray.", groups)
    assert not score_caption("Two dogs and a sign that says cat.", groups)
    assert not score_caption("Two dogs, a blue circle and a sign that says cat.", groups)
    assert not score_caption("A dog, a red circle and a sign that says cat.", groups)
    assert not score_caption("Two dogs, a cat, a red circle and a sign that says cat.", groups)


def test_clips_change_as_they_say():
    for seed in range(80):
        clip = sample_clip(random.Random(seed), "dev", FONTLESS)
        for q in clip_questions(clip, random.Random(seed), "dev"):
            assert score(q["answer"], q)
        first, last = clip.frames[0].things, clip.frames[-1].things
        if clip.change == "left":
            assert last[clip.thing].x < first[clip.thing].x - 40
        if clip.change in ("appears", "disappears"):
            assert len(last) - len(first) == (1 if clip.change == "appears" else -1)
        if clip.change == "still":
            assert first == last
    _, blobs = MakeClip(1, "dev", FONTLESS)(0)
    assert sorted(blobs) == ["image0", "image1", "image2", "image3"]


@needs_emoji
def test_every_emoji_can_be_drawn():
    background = Background("flat", "white", (250,) * 3, (240,) * 3)
    for kind in KINDS.values():
        if kind.emoji:
            thing = Thing("emoji", kind.name, kind.color, "large", 112, 112, 100)
            labels = cell_labels(Scene("single", background, [thing]))
            assert (labels["object"] > 0).sum() >= 2, kind


def test_missing_emoji_font_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr("data.scenes.sprites.EMOJI_FONT", tmp_path / "none.ttf")
    with pytest.raises(UserError, match="fonts-noto-color-emoji"):
        require_emoji()


def test_signs_are_drawn_without_installed_fonts(monkeypatch):
    scene = two_things()
    scene.things = [Thing("sign", "sign", "", "large", 112, 112, 150, text="stop", height=60)]
    monkeypatch.setattr("data.scenes.render.sign_fonts", lambda: ())
    sign_font.cache_clear()
    pixels = np.asarray(render(scene))[90:134, 50:174]
    sign_font.cache_clear()
    assert pixels.std() > 30


@pytest.mark.parametrize("seed", range(8))
def test_letters_of_a_sign_spell_its_text(seed):
    """Read along the middle row of the sign, the letter labels are the text, repeats merged."""
    scene = sample_scene(random.Random(seed), "train", "shapes", "sign")
    sign = next(thing for thing in scene.things if thing.text)
    row = letter_labels(scene)[int(sign.y // 16)]
    read = "".join(LETTERS[i - 1] for i in row if i)
    merged = "".join(a for a, b in zip(read, read[1:] + " ", strict=True) if a != b)
    text = sign.text.lower()
    plain = "".join(a for a, b in zip(text, text[1:] + " ", strict=True) if a != b)
    assert merged == plain


def test_a_build_that_was_stopped_goes_on_and_makes_nothing_twice(tmp_path):
    made = []

    def make(i):
        if i == 5 and len(made) < 6:
            raise KeyboardInterrupt
        made.append(i)
        return {"i": i}, {"b": bytes([i])}

    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, make, 8, shard_size=2, workers=1)
    whole = [f"shard-0000{n}.{end}" for n in (0, 1) for end in ("bin", "jsonl")]
    assert sorted(path.name for path in tmp_path.iterdir()) == whole
    generate(tmp_path, make, 8, shard_size=2, workers=1)
    assert made == [0, 1, 2, 3, 4, 4, 5, 6, 7]
    assert [ShardReader(tmp_path)[i]["b"] for i in range(8)] == [bytes([i]) for i in range(8)]
