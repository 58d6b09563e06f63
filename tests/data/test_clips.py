"""Clips and what is thought of them; several pictures in one request."""

import random
from collections import Counter
from dataclasses import asdict

import pytest

from data.scenes import several
from data.scenes.build import MakeSeveral
from data.scenes.clips import CHANGES, Clip, clip_questions, sample_clip
from data.scenes.objects import COLORS
from data.scenes.paraphrases import ASK, FURTHER
from data.scenes.scene import Background, Scene, Thing
from data.scenes.scoring import score
from data.scenes.several import Several, sample_several, several_questions
from data.scenes.styles import STYLES
from data.scenes.thinking import clip_thinking, several_thinking
from models.tokenizer import Tokenizer
from training.samples import several_sample

FLAT = Background("flat", "white", (250,) * 3, (250,) * 3)


def shape(name: str, color: str, x: float, y: float, side: float = 50.0) -> Thing:
    size = "small" if side < 67 else "large"
    return Thing("shape", name, color, size, x, y, side, rgb=COLORS[color])


def clip_of(change: str, *frames: list[Thing]) -> Clip:
    return Clip(change, 0, [Scene("several", FLAT, things) for things in frames])


def test_clip_thoughts_tell_movement_from_growth_and_appearing_from_vanishing():
    here = [shape("circle", "red", x, 40) for x in (40, 100, 170)]
    assert clip_thinking(clip_of("right", *([t] for t in here))) == (
        "Small red circle B2, D2, F2. The red circle moves to the right."
    )
    grown = [shape("star", "blue", 112, 112, side) for side in (50, 60, 90)]
    assert clip_thinking(clip_of("grows", *([t] for t in grown))) == (
        "Small blue star D4, D4, large D4. The blue star grows."
    )
    tree = shape("star", "blue", 112, 112, 100)
    assert clip_thinking(clip_of("appears", [tree], [here[0], tree])) == (
        "Red circle gone, small B2; large blue star D4, D4. A red circle appears."
    )
    assert clip_thinking(clip_of("disappears", [here[0], tree], [tree])) == (
        "Small red circle B2, gone; large blue star D4, D4. The red circle disappears."
    )
    turned = [here[0]], [shape("circle", "green", 40, 40)]
    assert clip_thinking(clip_of("turns", *turned)) == (
        "Small red circle B2, green circle B2. The red circle turns green."
    )


def different(clip: Clip) -> dict[str, list[int]]:
    """Which things differ in place, size and presence between the first frame and the last."""
    pairs = [(track[0], track[-1]) for track in clip.tracks()]
    both = [(i, a, b) for i, (a, b) in enumerate(pairs) if a and b]
    return {
        "moved": [i for i, a, b in both if (a.x // 32, a.y // 32) != (b.x // 32, b.y // 32)],
        "sized": [i for i, a, b in both if a.size != b.size],
        "gone": [i for i, (a, b) in enumerate(pairs) if (a is None) != (b is None)],
    }


@pytest.mark.parametrize("styles", [(), STYLES])
def test_clips_of_each_change_differ_in_their_thoughts_as_they_should(styles):
    told = {"grows": "sized", "shrinks": "sized", "appears": "gone", "disappears": "gone"}
    told |= {"turns": "", "still": ""}
    for change in CHANGES:
        for seed in range(4):
            clip = sample_clip(random.Random(seed), "train", styles=styles, change=change)
            assert Clip.from_dict(clip.to_dict()) == clip
            for name, found in different(clip).items():
                kind = told.get(change, "moved")
                assert found == ([clip.thing] if name == kind else []), (change, seed, name)
            for q in clip_questions(clip, random.Random(seed), "train"):
                assert score(q["answer"], q) and not score("I don't know.", q)


def test_yes_and_no_about_clips_are_balanced():
    told = Counter()
    for seed in range(300):
        clip = sample_clip(random.Random(seed), "train", "shapes")
        for q in clip_questions(clip, random.Random(seed), "train"):
            told[q["answer"]] += q["kind"] == "exists"
    assert 0.4 < told["Yes."] / (told["Yes."] + told["No."]) < 0.6


def test_clip_thoughts_are_short():
    tokenizer = Tokenizer("checkpoints/thinker_tiny/tokenizer.model")
    told = [clip_thinking(sample_clip(random.Random(i), "train")) for i in range(60)]
    assert max(len(tokenizer.encode(text)) for text in told) < 80


def test_questions_about_several_pictures_follow_from_them():
    kinds, answers = Counter(), Counter()
    which_has_more = {*ASK["more_pictures"][0], *FURTHER["more_pictures"]}
    for i in range(200):
        rng = random.Random(i)
        pictures = sample_several(rng, "train", styles=STYLES)
        assert Several.from_dict(asdict(pictures)) == pictures
        for q in several_questions(pictures, rng, "train"):
            kinds[q["kind"]] += 1
            assert score(q["answer"], q) and not score("I don't know.", q), q
            if q["kind"] == "which":
                answers[q["answer"]] += 1
            if q["kind"] == "which" and q["question"] not in which_has_more:
                has = [any(f" {p}" in q["question"] for p in several.phrases(s)) for s in pictures.scenes]
                assert any(has) or q["answer"] in ("Neither.", "None of them.")
        assert several_thinking(pictures.scenes).count("Picture ") == len(pictures.scenes)
    assert min(kinds[k] for k in ("which", "difference", "exists", "color", "count")) > 8
    assert 0.5 < answers["The first."] / answers["The second."] < 2 and answers["Neither."] > 5


def test_several_pictures_are_a_sample():
    record, blobs = MakeSeveral(1, "train", "shapes")(0)
    sample = several_sample(record | blobs, random.Random(0))
    images = [part for part in sample["messages"][0]["content"] if part["type"] == "image"]
    assert len(images) == len(sample["images"]) == len(record["scenes"]) >= 2
