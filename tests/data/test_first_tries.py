"""What people try first: true of the picture, and in the wordings of its split."""

import io
import random
import re

import numpy as np
import pytest
from PIL import Image

from data.dialogue.social import NO_PICTURE
from data.scenes.first_tries import first_questions, one_color, unseen
from data.scenes.objects import CSS
from data.scenes.paraphrases import ASK
from data.scenes.sampling import DRAWN_BY_CODE, sample_scene
from data.scenes.scene import Scene
from data.scenes.scoring import score
from data.scenes.thinking import scene_thinking


def test_a_picture_of_one_colour_is_told_by_its_name_and_has_nothing_in_it():
    names = set()
    for seed in range(60):
        record = one_color(random.Random(seed), "train")
        scene = Scene.from_dict(record["scene"])
        name = scene.background.color
        pixels = np.asarray(Image.open(io.BytesIO(record["image"])), dtype=int).reshape(-1, 3)
        assert any(abs(pixels - shade).max() <= 3 for shade in CSS[name])
        hue, whole, seen, nothing = (question["answer"] for question in record["questions"])
        assert hue == whole == f"{name.capitalize()}." and name in seen and nothing == "No."
        assert scene_thinking(scene).endswith("background: nothing.")
        names.add(name)
    assert names == set(CSS)


@pytest.mark.parametrize("layout", [DRAWN_BY_CODE, "single", "several", "count"])
def test_colour_and_shape_are_those_of_the_thing_that_is_meant(layout):
    kinds = set()
    for seed in range(150):
        scene = sample_scene(random.Random(seed), "train", layout=layout)
        for question in first_questions(scene, random.Random(seed), "train"):
            words = re.findall("[a-z]+", question["question"].lower())
            fitting = [t for t in scene.things if len(scene.things) == 1 or t.color in words]
            assert len(fitting) == 1
            said = fitting[0].color if question["kind"] == "color" else fitting[0].name
            assert said in question["answer"].lower() and score(question["answer"], question)
            kinds.add(question["kind"])
    assert kinds == ({"color", "what"} if layout in (DRAWN_BY_CODE, "single") else {"what"})


def test_what_is_not_shown_has_neither_colour_nor_shape():
    held = {asked for kind in ("hue", "shape") for asked in ASK[kind][1]}
    for split in ("train", "test"):
        asked = set()
        for seed in range(100):
            question, answer = unseen(random.Random(seed), split)
            assert answer["content"][-1]["text"] == NO_PICTURE
            asked.add(question["content"][-1]["text"].replace("colour", "color"))
        assert bool(asked & held) == (split == "test")
