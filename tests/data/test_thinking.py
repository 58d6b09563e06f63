"""The chain of thought tells what is in the picture, in the order of the image tokens."""

import random

import numpy as np
import pytest

from data.scenes.captions import score_caption, sights
from data.scenes.clips import clip_answer, clip_questions, sample_clip
from data.scenes.questions import scene_groups
from data.scenes.sampling import sample_scene
from data.scenes.scene import Background, Scene, Thing
from data.scenes.sights import reading_order
from data.scenes.thinking import clip_thinking, scene_thinking
from training import samples


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
    assert scene_thinking(SCENE) == (
        "On a striped blue background: B1 large green circle one top left, D1 small red circle one top, "
        "D4 sign that says stop one middle, F7 small red circle two bottom right. "
        "So: a green circle, a sign that says stop and two red circles."
    )


def test_the_sum_of_the_notes_is_a_right_list():
    for seed in range(200):
        scene = sample_scene(random.Random(seed), "dev")
        total = scene_thinking(scene).split("So: ")[1]
        assert score_caption(total, scene_groups(scene))


def test_reading_order_is_that_of_the_tokens():
    for seed in range(50):
        scene = sample_scene(random.Random(seed), "train")
        cells = [(int(t.y // 32), int(t.x // 32)) for t in reading_order(sights(scene))]
        assert cells == sorted(cells)


@pytest.fixture
def record() -> dict:
    asked = {"count": ("How many?", "Four."), "what": ("What?", "Things.")}
    questions = [{"kind": kind, "question": q, "answer": a} for kind, (q, a) in asked.items()]
    return {"scene": SCENE.to_dict(), "questions": questions, "follow_ups": [], "image": b"jpeg"}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_first_answer_opens_with_thinking(record, monkeypatch, share):
    monkeypatch.setattr(samples, "THINKING", share)
    sample = samples.picture_sample(record, random.Random(0))
    asked, answer, *later = sample["messages"]
    assert asked["content"][0] == {"type": "image"} and asked["content"][1]["type"] == "text"
    kinds = [part["type"] for part in answer["content"]]
    assert kinds == (["thinking", "text"] if share else ["text"])
    if share:
        assert answer["content"][0]["text"] == scene_thinking(SCENE)
    assert len(later) == 2 and all(part["type"] == "text" for m in later for part in m["content"])
    assert len(sample["images"]) == 1


def test_rare_kinds_are_always_asked_at_any_place(record):
    others = [{"kind": "exists", "question": f"{i}?", "answer": "No."} for i in range(9)]
    rare = {"kind": "compare", "question": "More?", "answer": "Balls."}
    record |= {"questions": [*others, rare]}
    places = set()
    for seed in range(40):
        messages = samples.picture_sample(record, random.Random(seed))["messages"]
        words = [m["content"][-1]["text"] for m in messages[::2]]
        places.add(words.index("More?"))
        assert len(words) == len(set(words)) <= 8
    assert len(places) > 4


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_spoken_questions_are_written_down_or_answered_at_once(monkeypatch, share):
    monkeypatch.setattr(samples, "THINKING", share)
    mel = np.zeros((128, 80), np.uint8)
    record = {"mel": mel, "text": "Who are you?", "question": {"answer": "I am μOmni."}}
    asked, answer = samples.spoken_sample(record, random.Random(0))["messages"]
    assert [part["type"] for part in asked["content"]] == ["audio"]
    assert answer["content"][-1]["text"] == "I am μOmni."
    assert [part["text"] for part in answer["content"][:-1]] == ["Who are you?\n"] * bool(share)


def test_two_sounds_and_a_picture_are_thought_about_a_line_each(monkeypatch):
    monkeypatch.setattr(samples, "THINKING", 1.0)
    mel = np.zeros((128, 80), np.uint8)
    records = [{"mel": mel, "text": "A dog."}, {"mel": mel, "text": "Two cats."}]
    asked = [{"question": "Who?", "answer": "A dog.", "rationale": "who yes"}]
    sample = samples.statement_sample(random.Random(0), records, asked)
    question, answer = sample["messages"]
    assert [part["type"] for part in question["content"]] == ["audio", "audio", "text"]
    assert answer["content"][0]["text"] == "A dog.\nTwo cats.\nQuestion: who yes."
    assert len(sample["sounds"]) == 2
    record = {"mel": mel, "text": "How many?", "question": {"answer": "Four."}}
    scene = {"scene": SCENE.to_dict(), "image": b""}
    spoken = samples.spoken_picture_sample(record, scene, random.Random(0))
    assert spoken["messages"][1]["content"][0]["text"] == f"How many?\n{scene_thinking(SCENE)}"


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_statement_may_be_asked_about_aloud(monkeypatch, share):
    monkeypatch.setattr(samples, "THINKING", share)
    texts = ("A dog.", "A cat.")
    said = [{"mel": np.full((128, 80), i, np.uint8), "text": text} for i, text in enumerate(texts)]
    typed = [{"question": f"Who {i}?", "answer": "Ann."} for i in range(4)]
    question = {"question": "Which one?", "answer": "The first one.", "rationale": "a dog the first"}
    aloud = {"mel": np.full((128, 80), 9, np.uint8), "text": "Which one?", "question": question}
    lengths = set()
    for seed in range(40):
        sample = samples.statement_sample(random.Random(seed), said, typed, aloud)
        assert [int(mel[0, 0]) for mel in sample["sounds"]] == [0, 1, 9]
        *before, asked, answer = sample["messages"]
        lengths.add(len(before) // 2)
        media = [part["type"] for message in sample["messages"] for part in message["content"]]
        assert media.count("audio") == 3
        assert asked["content"][-1]["type"] == "audio"
        heard = "Which one?\nQuestion: a dog the first."
        thought = heard if before else f"A dog.\nA cat.\n{heard}"
        assert [part["text"] for part in answer["content"]] == [thought] * bool(share) + ["The first one."]
    assert lengths == {0, 1, 2}


def test_a_clip_with_a_voice_is_asked_about_both(monkeypatch):
    monkeypatch.setattr(samples, "THINKING", 1.0)
    clip = sample_clip(random.Random(3), "train", "shapes", change="left")
    record = {"clip": clip.to_dict(), "questions": clip_questions(clip, random.Random(0), "train")}
    record |= {f"image{i}": bytes([i]) for i in range(4)}
    voice = {"mel": np.zeros((128, 80), np.uint8), "text": "A dog."}
    about = [{"kind": "who", "question": "Who was it?", "answer": "A dog was it."}]
    asked, meanwhile = set(), f"while the {clip_answer(clip)[4:-1]}"
    for seed in range(80):
        sample = samples.clip_sample(record, random.Random(seed), voice, about)
        question, answer = sample["messages"][:2]
        assert [part["type"] for part in question["content"]] == ["image"] * 4 + ["audio", "text"]
        assert len(sample["images"]) == 4 and len(sample["sounds"]) == 1
        words, first = question["content"][-1]["text"], answer["content"][0]
        asked.add((answer["content"][-1]["text"], meanwhile in words))
        assert (first["type"] == "thinking") == (words != samples.TRANSCRIBE_QUESTION)
        assert first["type"] == "text" or first["text"] == f"A dog.\n{clip_thinking(clip)}"
    assert {("A dog.", True), ("A dog.", False), ("A dog was it.", False)} < asked
    silent = samples.clip_sample(record, random.Random(0))
    assert not silent["sounds"] and len(silent["messages"][0]["content"]) == 5
