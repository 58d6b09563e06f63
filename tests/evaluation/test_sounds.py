"""Questions about sounds: a model that knows gets everything right, one that hears others nothing."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from data.dialogue.draw import Draw
from data.scenes.clips import clip_questions, sample_clip
from data.shards import store
from data.speech.asr_corpus import dequantise_mel
from data.speech.statement_questions import questions
from data.speech.statements import statement
from evaluation import sounds


@pytest.fixture(scope="module")
def records() -> list[dict]:
    rng = random.Random(1)
    made = [statement(rng, "test") for _ in range(30)]
    return [record | {"questions": questions(record, Draw(rng, "test"))} for record in made]


class Knowing:
    """Answers of somebody who was told which sounds mean which answer."""

    def __init__(self, cases: list[sounds.Case]) -> None:
        self.answers = {(*at, q["question"]): q["answer"] for at, q in cases}

    def ask(self, turns: list, desc: str) -> list[str]:
        heard = [tuple(int(sound.mel[0, 0]) for sound in turn.sounds) for turn in turns]
        return [self.answers.get((*at, turn.text), "What?") for at, turn in zip(heard, turns, strict=True)]


@pytest.mark.parametrize(("name", "heard"), [("one", 1), ("two", 2)])
def test_the_right_sounds_are_needed(records, name, heard):
    cases = sounds.about_one(records) if heard == 1 else sounds.about_two(records, 40)
    assert len(cases) >= 60 and all(len(at) == heard for at, _ in cases)
    mels = [torch.full((128, 8), float(i)) for i in range(len(records))]
    figures = sounds.ask(Knowing(cases), mels, cases, name)
    assert figures[f"{name}/all"].value == 1.0 and figures[f"{name}/all"].n == len(cases)
    assert figures[f"{name}_shuffled/all"].value < 0.1
    by_kind = [f.n for key, f in figures.items() if key.startswith(f"{name}/") and key != f"{name}/all"]
    assert sum(by_kind) == len(cases)


def test_repeating_the_transcript_is_seldom_right(records):
    cases = sounds.about_one(records)
    repeated = sounds.marks(cases, [records[at[0]]["text"] for at, _ in cases])
    assert sum(repeated) < 0.3 * len(cases)


class Listening:
    """Answers by the sounds and words of a turn; without the right sounds nothing."""

    def __init__(self, answers: dict) -> None:
        self.answers = answers

    def ask(self, turns: list, desc: str) -> list[str]:
        heard = [tuple(int(sound.mel[0, 0] * 10) for sound in turn.sounds) for turn in turns]
        return [self.answers.get((at, turn.text), "What?") for at, turn in zip(heard, turns, strict=True)]


def mel(level: int) -> np.ndarray:
    return np.full((128, 8), level, np.uint8)


def level(number: int) -> int:
    """What `Listening` knows a sound of this number by."""
    return int(dequantise_mel(mel(number))[0, 0] * 10)


def test_questions_aloud_come_after_the_statements_that_they_are_about(records, tmp_path, monkeypatch):
    setting = SimpleNamespace(data_dir=tmp_path, workers=1, count=lambda n: n)
    store(tmp_path / "statements_test", [(r, {"mel": mel(7 * i)}) for i, r in enumerate(records)], 100)
    rng, asked, answers = random.Random(2), [], {}
    for k in range(12):
        places = rng.sample(range(len(records)), 1 + k % 2)
        question = records[places[0]]["questions"][0]
        asked.append(({"statements": places, "question": question}, {"mel": mel(220 + k)}))
        answers[tuple(level(7 * i) for i in places) + (level(220 + k),), ""] = question["answer"]
    store(tmp_path / "statement_questions_test", asked, 100)
    monkeypatch.setattr(sounds, "build_questions", lambda *args, **named: None)
    figures = sounds.ask_aloud(Listening(answers), setting)
    assert figures["aloud/all"].value == 1.0 and figures["aloud/one"].n == figures["aloud/two"].n == 6
    one_wrong = dict(list(answers.items())[1:])
    assert sounds.ask_aloud(Listening(one_wrong), setting)["aloud/one"].value == pytest.approx(5 / 6)


def test_the_voice_of_a_clip_must_be_its_own(records, tmp_path, monkeypatch):
    setting = SimpleNamespace(data_dir=tmp_path, workers=1)
    clips = []
    for i in range(len(records)):
        clip = sample_clip(random.Random(i), "test", "shapes")
        record = {"clip": clip.to_dict(), "questions": clip_questions(clip, random.Random(i), "test")}
        clips.append((record, dict.fromkeys([f"image{k}" for k in range(4)], b"")))
    store(tmp_path / "clips_test", clips, 100)
    monkeypatch.setattr(sounds, "build_pictures", lambda *args, **named: None)
    monkeypatch.setattr(sounds, "picture", lambda encoded: torch.zeros(3, 224, 224, dtype=torch.uint8))
    heard = {"texts": [record["text"] for record in records], "clips": [record for record, _ in clips]}

    class Watching:
        """Knows the answer to each question about voice number i, and what happens in clip number i."""

        def ask(self, turns: list, desc: str) -> list[str]:
            return [self.answer(i, turn) for i, turn in enumerate(turns)]

        def answer(self, i: int, turn) -> str:
            assert len(turn.images) == 4
            seen = {q["question"]: q["answer"] for q in heard["clips"][i]["questions"]}
            at = int(turn.sounds[0].mel[0, 0])
            known = {q["question"]: q["answer"] for q in records[at]["questions"]}
            return seen.get(turn.text) or known.get(turn.text) or heard["texts"][at]

    mels = [torch.full((128, 8), float(i)) for i in range(len(records))]
    figures = sounds.ask_voiced(Watching(), records, mels, setting)
    assert figures["voiced/heard"].value == figures["voiced/seen"].value == 1.0
    assert figures["voiced/said"].value == 0.0 and figures["voiced_shuffled/heard"].value < 0.2
