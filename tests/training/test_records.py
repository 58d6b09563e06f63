"""Records of the omni stage: statements that are asked about aloud, and as the voice of a clip."""

import random

import numpy as np
import pytest

from data.dialogue.draw import Draw
from data.shards import ShardReader, store
from data.speech.statement_pairs import Pairs
from data.speech.statement_questions import questions, right
from data.speech.statements import statement
from training.records import Records


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> Records:
    """Twenty statements whose sounds are their numbers, and a spoken question about each or about two."""
    folder, rng = tmp_path_factory.mktemp("records"), random.Random(0)
    said = [statement(rng, "train") for _ in range(20)]
    made = [record | {"questions": questions(record, Draw(rng, "train"))} for record in said]
    asked = [
        {"statements": [i, (i + 1) % 20][: 1 + i % 2], "text": "?", "question": {"answer": str(i)}}
        for i in range(20)
    ]
    for name, rows, first in (("statements", made, 0), ("statement_questions", asked, 100)):
        mels = [{"mel": np.full((128, 40), first + i, np.uint8)} for i in range(20)]
        store(folder / f"{name}_train", list(zip(rows, mels, strict=True)), 100)
    found = object.__new__(Records)
    names = ("statements", "statement_questions")
    found.readers = {(name, "train"): ShardReader(folder / f"{name}_train") for name in names}
    found.pairs, found.noisy = {"train": Pairs(made)}, 0.0
    found.augmented = lambda record, rng, split: record
    return found


def test_a_spoken_question_comes_with_the_statements_that_it_is_about(records):
    lengths = set()
    for seed in range(60):
        said, typed, aloud = records.asked_aloud(random.Random(seed), "train")
        assert [int(one["mel"][0, 0]) for one in said] == aloud["statements"]
        assert int(aloud["mel"][0, 0]) == 100 + int(aloud["question"]["answer"])
        assert typed and all(right(question["answer"], question) for question in typed)
        lengths.add(len(said))
    assert lengths == {1, 2}


def test_the_voice_of_a_clip_is_one_statement_with_questions_about_it(records):
    voices = [records.voice(random.Random(seed), "train") for seed in range(60)]
    assert len({voice["text"] for voice, _ in voices}) > 10
    kinds = ("who", "where")
    told = [(voice["text"].lower(), q) for voice, asked in voices for q in asked if q["kind"] in kinds]
    assert len(told) > 20 and all(2 <= len(asked) <= 4 for _, asked in voices)
    for text, question in told:
        assert any(word in text for word in question["answer"].lower().rstrip(".").split()[:3])


def test_statements_come_alone_and_in_twos(records):
    drawn = [records.statements(random.Random(seed), "train")[0] for seed in range(80)]
    assert {len(one) for one in drawn} == {1, 2}
    assert 0.2 < sum(len(one) == 2 for one in drawn) / 80 < 0.5
