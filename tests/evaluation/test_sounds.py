"""Questions about sounds: a model that knows gets everything right, one that hears others nothing."""

from __future__ import annotations

import random

import pytest
import torch

from data.dialogue.draw import Draw
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
