"""Notes say what is in the picture, in the order in which the eyes' tokens come."""

import random

import numpy as np
import pytest

from data.scenes.captions import score_caption, sights
from data.scenes.notes import clip_notes, scene_notes
from data.scenes.questions import scene_groups
from data.scenes.scene import Background, Scene, Thing, sample_scene
from models.notes import reading_order
from models.omni import NOTE_QUESTION
from models.tokenizer import Tokenizer
from training import lessons


def circle(color: str, x: float, y: float, side: float = 44.0) -> Thing:
    size = "small" if side < 60 else "large"
    return Thing("shape", "circle", color, size, x, y, side)


SCENE = Scene(
    "several",
    Background("stripes", "blue", (40, 92, 220), (40, 92, 220)),
    [
        circle("red", 190, 200), circle("green", 40, 30, 80.0), circle("red", 112, 20),
        Thing("sign", "sign", "", "large", 100, 112, 120.0, text="STOP", height=40.0),
    ],
)


def test_everything_is_noted_in_reading_order_with_its_number_and_place():
    assert scene_notes(SCENE) == (
        "On a striped blue background: large green circle one top left, small red circle one top, "
        "sign that says stop one middle, small red circle two bottom right. "
        "So: a green circle, a sign that says stop and two red circles."
    )


def test_the_sum_of_the_notes_is_a_right_list():
    for seed in range(200):
        scene = sample_scene(random.Random(seed), "dev")
        total = scene_notes(scene).split("So: ")[1]
        assert score_caption(total, scene_groups(scene))


def test_reading_order_is_that_of_the_tokens():
    for seed in range(50):
        scene = sample_scene(random.Random(seed), "train")
        cells = [(int(t.y // 32), int(t.x // 32)) for t in reading_order(sights(scene))]
        assert cells == sorted(cells)


def test_what_moves_in_a_clip_differs_from_frame_to_frame():
    frames = [
        Scene("several", SCENE.background, [circle("red", x, 40), circle("blue", 112, 200)][:n])
        for x, n in ((40, 2), (112, 2), (190, 1))
    ]
    assert clip_notes(frames) == (
        "Frames: small red circle two two, small blue circle seven four; "
        "small red circle two four, small blue circle seven four; small red circle two six."
    )


@pytest.fixture
def record() -> dict:
    questions = [{"question": "How many?", "answer": "Four."}, {"question": "What?", "answer": "Things."}]
    return {"scene": SCENE.to_dict(), "questions": questions, "follow_ups": [], "image": b"jpeg"}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_lessons_begin_with_notes_or_with_the_picture(record, monkeypatch, share):
    monkeypatch.setattr(lessons, "NOTED", share)
    lesson = lessons.picture_lesson(record, random.Random(0))
    first, *_ = lesson["messages"]
    assert first["content"][0] == {"type": "image"}
    assert (first["content"][1]["text"] == NOTE_QUESTION) == bool(share)
    assert len(lesson["messages"]) == 2 * (2 + bool(share))
    shown = [p for m in lesson["messages"] for p in m["content"] if isinstance(p, dict)]
    assert sum(p["type"] == "image" for p in shown) == len(lesson["images"]) == 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_spoken_questions_are_written_down_or_answered_at_once(monkeypatch, share):
    monkeypatch.setattr(lessons, "NOTED", share)
    mel = np.zeros((128, 80), np.uint8)
    record = {"mel": mel, "text": "Who are you?", "question": {"answer": "I am μOmni."}}
    lesson = lessons.spoken_lesson(record, random.Random(0))
    said = [m["content"] for m in lesson["messages"]]
    assert said[-1] == "I am μOmni." and said[0][0]["type"] == "audio"
    assert len(said) == 2 + 2 * bool(share)
    if share:
        assert said[1] == "Who are you?" and said[2][0]["text"] == "Who are you?"


@pytest.mark.parametrize("reading", ["Who are you?", "Who are ewe?"])
def test_what_was_misheard_is_asked_and_not_learnt(monkeypatch, nano_omni_dir, reading):
    monkeypatch.setattr(lessons, "NOTED", 1.0)
    record = {"mel": np.zeros((128, 80), np.uint8), "text": "Who are you?"}
    record |= {"question": {"answer": "I am μOmni."}, "rivals": [[reading, 0.0, 1]]}
    messages = lessons.spoken_lesson(record, random.Random(0))["messages"]
    assert messages[1]["content"] == messages[2]["content"][0]["text"] == reading
    tokenizer = Tokenizer(nano_omni_dir / "tokenizer.model")
    ids, mask = tokenizer.encode_chat_targets(messages)
    learnt = tokenizer.decode([i for i, m in zip(ids, mask, strict=True) if m])
    assert ("Who are" in learnt) == (reading == "Who are you?") and "I am" in learnt
