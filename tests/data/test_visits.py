"""Visits: what they ask is true at the place where it is asked, and nothing held out is practised."""

from __future__ import annotations

import random
from itertools import islice

from data.conversation import score_turn
from data.scenes.build import MakeScene
from data.talk.beyond import outside, quiz, quiz_split
from data.talk.chatter import BIGGER, BY_SIZE, CHATTER, REACTIONS
from data.talk.draw import FURTHER, Draw, share
from data.talk.social import NO_PICTURE, NO_SOUND
from data.visits import stretches

UTTERANCE = {"text": "The old man bought a new hat.", "kind": "sentence"}


def scene(rng: random.Random) -> dict:
    return MakeScene(1, "train").describe(rng.randrange(500))[1]


def photo(rng: random.Random) -> dict:
    return {"name": "fox", "other": "cat"}


SOURCES = {"scene": scene, "photo": photo, "heard": lambda rng: UTTERANCE}


def visit(seed: int, split: str = "train", length: int = 25):
    return list(islice(stretches(random.Random(seed), split, SOURCES, ["Who was Nero?"]), length))


def test_the_same_seed_makes_the_same_visit_and_all_kinds_come() -> None:
    assert visit(1) == visit(1)
    assert visit(1) != visit(2)
    kinds = {stretch.kind for seed in range(20) for stretch in visit(seed)}
    assert kinds == {"talk", "back", "scene", "photo", "heard", "again"}


def test_what_is_shown_is_not_missed_and_what_is_not_is_not_asked_about() -> None:
    for seed in range(60):
        view, heard = None, ""
        for stretch in visit(seed):
            answers = {question["answer"] for question in stretch.asked}
            if stretch.kind == "back":
                assert view is not None
            if stretch.kind == "again":
                assert answers == {heard}
            if view is not None:
                assert NO_PICTURE not in answers
            if heard:
                assert NO_SOUND not in answers
            if stretch.kind in ("scene", "photo"):
                view = stretch
            if stretch.kind == "heard":
                heard = stretch.record["text"]


def test_questions_go_back_to_the_picture_shown_last() -> None:
    for seed in range(30):
        view = None
        for stretch in visit(seed):
            if stretch.kind in ("scene", "photo"):
                view = stretch
            if stretch.kind == "back" and view.kind == "scene":
                record = view.record
                known = record["questions"] + [q for two in record["follow_ups"] for q in two]
                assert all(q["answer"] in {k["answer"] for k in known} for q in stretch.asked)


def test_a_name_is_asked_for_after_it_was_told_and_only_then_known() -> None:
    told = 0
    for seed in range(60):
        name = None
        talk = [stretch for stretch in visit(seed) if stretch.kind == "talk"]
        for question in (q for stretch in talk for q in stretch.asked):
            if question["kind"] == "name" and name is None:
                name = question["answer"].removeprefix("Nice to meet you, ").rstrip("!")
            elif question["kind"] == "name":
                told += 1
                assert question["answer"] == f"Your name is {name}."
            if question["kind"] == "no_name":
                assert name is None
    assert told > 5


def test_held_out_wordings_of_chatter_are_not_practised() -> None:
    lists = [wordings for wordings, _ in REACTIONS] + [BIGGER]
    for wordings in lists:
        held = share(wordings, "dev") + share(wordings, "test")
        assert held and FURTHER[wordings[0]]
        assert not set(held) & {*share(wordings, "train"), *FURTHER[wordings[0]]}


def test_what_is_slow_to_learn_comes_more_often_in_training_alone() -> None:
    shares = {}
    for split in ("train", "dev", "test"):
        kinds = [stretch.kind for seed in range(60) for stretch in visit(seed, split)]
        shares[split] = kinds.count("again") / len(kinds)
    assert shares["train"] > 1.5 * max(shares["dev"], shares["test"])


def test_chatter_is_right_by_its_own_check_and_animals_keep_their_order() -> None:
    for kind, (make, _) in CHATTER.items():
        draw = Draw(random.Random(kind), "train")
        for _ in range(50):
            turn = make(draw)[0]
            assert score_turn(turn.answer, {"answer": turn.answer, "accept": turn.accept})
            if kind == "bigger":
                large = turn.answer.removesuffix(" is bigger.").split(" ", 1)[1]
                small = next(a for a in BY_SIZE if f" {a}" in turn.question.replace(large, ""))
                assert BY_SIZE.index(large) > BY_SIZE.index(small)


def test_the_quiz_leaves_out_what_the_world_knows_and_has_three_parts(tmp_path) -> None:
    assert outside("Who wrote the first novel about a whale?")
    assert not outside("What is the capital of Peru, a country in the south?")
    assert not outside("Which of these is a bird that cannot fly?")
    assert quiz(None, "train") == []
    parts = [quiz_split(f"Who was person number {i}?") for i in range(300)]
    assert parts.count("train") > 240 and {"dev", "test"} < set(parts)
