"""Questions contradict nothing, give nothing away, and are English."""

import random
import re

import pytest

from data.dialogue.told import plural
from data.scenes.follow_ups import exists_then_it, named_then_it, next_to_it, same_of_another
from data.scenes.objects import COLORS, KINDS
from data.scenes.photos import alike, in_plural, photo_question
from data.scenes.questions import absent, color
from data.scenes.sampling import sample_scene
from data.scenes.scoring import pictures_named, score_change
from data.scenes.several import in_both, same, sample_several

MANY = {"strawberry": "strawberries", "red knife": "red knives", "leaf": "leaves", "brush": "brushes",
        "potato": "potatoes", "day": "days", "box": "boxes", "mouse": "mice", "roof": "roofs"}  # fmt: skip


def scenes(count: int):
    rng = random.Random(0)
    return [(sample_scene(rng, "train"), rng) for _ in range(count)]


@pytest.mark.parametrize("one", MANY)
def test_plurals(one):
    assert plural(one) == MANY[one]


def test_what_is_named_by_its_side_is_there():
    sides = re.compile(r"(left|right|top|bottom)\?")
    found = 0
    for scene, rng in scenes(400):
        for build in (named_then_it, next_to_it):
            pair = build(scene, rng)
            side = pair and sides.search(pair[0]["question"])
            if side and pair[1]["kind"] == "where":
                found += 1
                assert side[1] in pair[1]["answer"].lower(), pair
    assert found > 5


def test_no_question_holds_the_answer_to_its_second():
    found = 0
    for scene, rng in scenes(400):
        for build in (exists_then_it, same_of_another):
            for one in build(scene, rng) or ():
                if one["kind"] == "color":
                    found += 1
                    assert one["answer"].rstrip(".").lower() not in one["question"].lower()
            pair = build(scene, rng)
            if pair and pair[1]["kind"] == "color" and build is exists_then_it:
                assert not set(pair[0]["question"].lower().rstrip("?").split()) & set(COLORS)
    assert found > 20


def test_colors_of_several_agree():
    forms = "|".join(kind.plural for kind in KINDS.values() if kind.plural != kind.name)
    asked = [color(scene, rng, split, "all") for split in ("train", "test") for scene, rng in scenes(600)]
    many = [q["question"] for q in asked if q and re.search(rf"\b({forms})\b", q["question"])]
    assert len(many) > 20
    wrong = rf"\b(color|colour|what) is the ({forms})\b|\bdoes the|(?<!of the )\b({forms}) (is|has)\b"
    assert not [question for question in many if re.search(wrong, question)]


def test_nothing_is_denied_that_is_nearly_there():
    for scene, rng in scenes(500):
        names = {thing.name for thing in scene.things}
        if scene.objects():
            missing = absent(scene, rng, "all")
            assert not (missing == "flower" and names & {"rose", "tulip", "sunflower"})
            assert not (missing == "tree" and names & {"pine tree", "palm tree"})


def test_yes_and_no_are_balanced_where_two_pictures_are_compared():
    rng = random.Random(0)
    for build in (same, in_both):
        answers = [build(sample_several(rng, "train"), rng, "train", "all") for _ in range(700)]
        yes = [q["answer"] == "Yes." for q in answers if q]
        assert 0.3 < sum(yes) / len(yes) < 0.7, build.__name__


def test_photographs_are_asked_about_in_english_and_fairly():
    assert in_plural("Is this pants?") == "Are these pants?"
    assert in_plural("Is this a photo of pants?") == "Is this a photo of pants?"
    assert alike("cloud", "sea") and not alike("cloud", "shark")
    record, rng = {"name": "sea", "other": "cloud"}, random.Random(0)
    assert {photo_question(record, "check", rng, "train")["answer"] for _ in range(20)} == {"Yes."}


def test_what_answers_claim():
    assert pictures_named("The second one.") == {2} and pictures_named("Picture one.") == {1}
    change = {"answer": "The red circle moves up."}
    assert score_change("The circle moves up.", change)
    assert not score_change("The blue circle moves up.", change)
