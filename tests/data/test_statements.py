"""Statements and their questions: splits, exact answers, and that yes is as frequent as no."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from data.dialogue.draw import Draw
from data.shards import ShardReader
from data.speech.statement_corpus import (
    QuestionMaker,
    StatementMaker,
    build_questions,
    build_statements,
)
from data.speech.statement_pairs import NEITHER, Pairs, mentions, pair_questions
from data.speech.statement_questions import NOT_SAID, asked, check, questions, right, typed_question
from data.speech.statements import LONGEST, NAMES, names, statement, tables, things
from tests.fixtures.engines import needs_engines

TRUE_OF = {  # a clause by hand: "Anna bought three black dogs in Rome on Friday."
    "family": "do",
    "used": ["colour", "many", "noun", "what", "when", "where", "who"],
    "slots": {"has": "bought", "do": "did", "have": "buy", "who": "Anna", "whom": "Tom", "where": "in Rome",
              "place": "Rome", "when": "on Friday", **things("dog", "three", "black")},
}
ANSWERS = {  # kind: (the answer, shorter ones that are right, wrong ones)
    "who": ("Anna bought three black dogs.", ("anna", "Anna did."), ("Tom.", "Three dogs.")),
    "what": ("Anna bought three black dogs.", ("three black dogs", "3 dogs"), ("a dog", "four black dogs")),
    "many": ("Anna bought three dogs.", ("Three.", "3"), ("four", "black")),
    "colour": ("The dogs are black.", ("black", "They are black."), ("white", "three")),
    "where": ("Anna bought three dogs in Rome.", ("In Rome.", "Rome"), ("In Paris.", "On Friday.")),
    "when": ("Anna bought three dogs on Friday.", ("On Friday.",), ("On Sunday.", "In Rome.")),
}


@lru_cache
def drawn(split: str, count: int = 400, seed: int = 1) -> list[dict]:
    rng = random.Random(seed)
    return [statement(rng, split) for _ in range(count)]


def all_questions(split: str) -> list[dict]:
    draw = Draw(random.Random(2), split)
    return [q for record in drawn(split) for q in questions(record, draw)]


def test_a_statement_depends_on_the_generator_alone():
    first, again, other = ([statement(random.Random(seed), "train") for _ in range(9)] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_statements_are_short_sentences_with_three_to_six_questions(split):
    draw = Draw(random.Random(2), split)
    for record in drawn(split):
        assert re.fullmatch(r"([A-Z][A-Za-z', ]+\.( |$))+", record["text"]), record["text"]
        assert len(record["text"].split()) <= LONGEST and "  " not in record["text"]
        found = questions(record, draw)
        assert 3 <= len(found) <= 6 and len({q["question"] for q in found}) == len(found)
        assert all(re.fullmatch(r"[A-Z][^{}]*[.?]", q["question"]) for q in found)


def test_every_family_pattern_and_kind_comes():
    records = drawn("train", 600)
    families = tables()["families"]
    assert {fact["family"] for record in records for fact in record["facts"]} == set(families)
    assert sum(len(f["said"]) for f in families.values()) >= 36
    kinds = Counter(q["kind"] for q in all_questions("train"))
    assert set(kinds) >= {*ANSWERS, "check", "about", "unsaid", "whom"}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_answers_of_one_statement_by_hand(kind, split):
    answer, accepted, wrong = ANSWERS[kind]
    found = [asked(Draw(random.Random(seed), split), kind, TRUE_OF) for seed in range(30)]
    assert {q["answer"] for q in found if q} == {answer}
    for question in filter(None, found):
        assert all(right(text, question) for text in (answer, *accepted))
        assert not any(right(text, question) for text in (*wrong, NOT_SAID, ""))


def test_yes_and_no_are_as_frequent_and_no_is_no():
    found = [q for seed in range(1000) if (q := check(Draw(random.Random(seed), "train"), TRUE_OF))]
    yes = sum(q["accept"] == ["Yes."] for q in found) / len(found)
    assert 0.45 < yes < 0.55
    for q in found:
        assert right(q["accept"][0], q) and not right("No." if q["accept"] == ["Yes."] else "Yes.", q)
        if q["accept"] == ["No."]:
            truth = q["answer"].removeprefix("No, ").rstrip(".").lower()
            assert truth not in q["question"].lower()


def test_what_is_not_said_is_not_in_the_statement():
    draw = Draw(random.Random(3), "train")
    for record in drawn("train"):
        for q in questions(record, draw):
            if q["kind"] == "colour":
                assert set(record["text"].rstrip(".").replace(".", "").split()) & set(tables()["colours"])
            if q["kind"] == "unsaid" and "color" in q["question"]:
                thing = q["question"].rstrip("?.").split("the ")[-1].split()[0]
                assert not any(f"{c} {thing}" in record["text"] for c in tables()["colours"] if c != thing)


# ---- splits ----------------------------------------------------------------------------------


def test_names_and_wordings_of_dev_and_test_are_never_in_train():
    assert set(names("train")) | set(names("dev")) | set(names("test")) == set(NAMES)
    assert min(len(names("dev")), len(names("test"))) >= 2
    said = " ".join(record["text"] for record in drawn("train"))
    assert not any(re.search(rf"\b{name}\b", said) for name in (*names("dev"), *names("test")))
    train = {q["question"] for q in all_questions("train")}
    for split in ("dev", "test"):
        assert not train & {q["question"] for q in all_questions(split)}
        for frames in (*tables()["frames"].values(), *tables()["pairs"].values()):
            assert not set(frames["train"]) & set(frames[split])
        for family in tables()["families"].values():
            for kind in family["kinds"].values():
                assert not {*kind["ask"], *kind["tell"]} & set(kind[split])


def test_statements_of_splits_do_not_overlap():
    train, dev, test = ({r["text"] for r in drawn(split)} for split in ("train", "dev", "test"))
    assert not train & dev and not train & test and not dev & test


# ---- two statements --------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["train", "test"])
def test_questions_about_two_statements(split):
    rng, records = random.Random(4), drawn(split)
    pairs, kinds, yes = Pairs(records), Counter(), Counter()
    for _ in range(800):
        i, j = pairs.draw(rng)
        assert i != j
        found = pair_questions(records[i], records[j], rng, split)
        assert 2 <= len(found) <= 6
        kinds.update(q["kind"] for q in found)
        for q in found:
            assert right(q["answer"], q)
            if q["kind"] == "both":
                yes[q["accept"][0]] += 1
            if q["kind"] == "which" and q["answer"] != NEITHER:
                at = ("The first one.", "The second one.").index(q["answer"])
                asked_for = q["question"].rstrip("?.").lower()
                assert any(x.lower() in asked_for for x in mentions(records[(i, j)[at]]))
    assert set(kinds) >= {"which", "both", "who_of", "about", "unsaid", "who", "where", "many"}
    assert 0.35 < yes["Yes."] / yes.total() < 0.65


def test_a_typed_question_is_asked_in_many_wordings():
    record = drawn("train", 1)[0]
    assert len({typed_question(record, random.Random(i), "train")["question"] for i in range(50)}) > 20


# ---- aloud -----------------------------------------------------------------------------------


@needs_engines
def test_statements_as_shards(tmp_path):
    build_statements(tmp_path, 3, seed=5, voices="engines")
    clips = ShardReader(tmp_path)
    for i in range(3):
        record = clips[i]
        assert record["kind"] == "statement" and record["text"] and len(record["questions"]) >= 3
        assert record["mel"].shape == (128, round(record["seconds"] * 16000) // 160)
        assert record["mel"].dtype == np.uint8 and record["seconds"] <= 8
    assert clips.record(1)["text"] == StatementMaker(5, "train", voices="engines")(1)[0]["text"]


@needs_engines
def test_questions_about_statements_as_shards(tmp_path):
    """Each is about statements of the folder, which answer it."""
    stated, folder = tmp_path / "statements", tmp_path / "questions"
    build_statements(stated, 6, seed=5, voices="engines")
    build_questions(folder, stated, 8, seed=6, voices="engines")
    clips, statements = ShardReader(folder), ShardReader(stated)
    for i in range(8):
        record = clips[i]
        about = [statements.record(k)["text"].lower() for k in record["statements"]]
        asked = record["question"]
        assert record["text"] == asked["question"] and len(set(record["statements"])) in (1, 2)
        assert abs(record["mel"].shape[1] - 100 * record["seconds"]) <= 1
        if asked["kind"] in ("who", "where", "when"):
            words = set(re.findall("[a-z]+", asked["answer"].lower()))
            assert any(words & set(re.findall("[a-z]+", text)) for text in about)
    again = QuestionMaker(6, "train", voices="engines", statements=str(stated))(1)[0]
    assert clips.record(1)["text"] == again["text"]
