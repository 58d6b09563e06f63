"""Interleaved dialogues: what they ask is true where it is asked, and nothing held out is in training."""

from __future__ import annotations

import random
from itertools import islice

from data.dialogue.chitchat import CHITCHAT, LISTS
from data.dialogue.conversation import score_turn
from data.dialogue.draw import FURTHER, Draw, share
from data.dialogue.out_of_scope import outside, quiz, quiz_split
from data.dialogue.social import NO_PICTURE, NO_SOUND
from data.interleaved import segments
from data.scenes.build import MakeScene

UTTERANCE = {"text": "The old man bought a new hat.", "kind": "sentence"}


def scene(rng: random.Random) -> dict:
    return MakeScene(1, "train").describe(rng.randrange(500))[1]


def photo(rng: random.Random) -> dict:
    return {"name": "fox", "other": "cat"}


ASKED = [
    {
        "text": text,
        "kind": "talk_question",
        "question": {"kind": kind, "answer": answer, "accept": []},
    }
    for text, kind, answer in (
        ("What do you see?", "no_picture", NO_PICTURE),
        ("What do you hear?", "refusal", NO_SOUND),
        ("Hello.", "greeting", "Hello!"),
    )
]
SOURCES = {
    "scene": scene,
    "photo": photo,
    "heard": lambda rng: UTTERANCE,
    "asked": lambda rng: rng.choice(ASKED),
}


def dialogue(seed: int, split: str = "train", length: int = 25):
    return list(islice(segments(random.Random(seed), split, SOURCES, ["Who was Nero?"]), length))


def test_the_same_seed_makes_the_same_dialogue_and_all_kinds_come() -> None:
    assert dialogue(1) == dialogue(1)
    assert dialogue(1) != dialogue(2)
    kinds = {segment.kind for seed in range(20) for segment in dialogue(seed)}
    assert kinds == {"talk", "back", "scene", "photo", "heard", "asked", "again"}


def test_what_is_shown_is_not_missed_and_what_is_not_is_not_asked_about() -> None:
    for seed in range(60):
        view, heard = None, ""
        for segment in dialogue(seed):
            answers = {question["answer"] for question in segment.asked}
            if segment.kind == "back":
                assert view is not None
            if segment.kind == "again":
                assert answers == {heard}
            if view is not None:
                assert NO_PICTURE not in answers
            if heard:
                assert NO_SOUND not in answers
            if segment.kind in ("scene", "photo"):
                view = segment
            if segment.kind in ("heard", "asked"):
                heard = segment.record["text"]


def test_questions_go_back_to_the_picture_shown_last() -> None:
    for seed in range(30):
        view = None
        for segment in dialogue(seed):
            if segment.kind in ("scene", "photo"):
                view = segment
            if segment.kind == "back" and view.kind == "scene":
                record = view.record
                known = record["questions"] + [q for two in record["follow_ups"] for q in two]
                assert all(q["answer"] in {k["answer"] for k in known} for q in segment.asked)


def test_a_fact_is_asked_for_after_it_was_told_and_only_then_known() -> None:
    known = corrected = distance = 0
    for seed in range(60):
        told: dict[str, int] = {}
        turns = [q for segment in dialogue(seed) for q in segment.asked]
        for place, question in enumerate(turns):
            said = (
                question["answer"]
                .removeprefix("Okay. ")
                .replace("Nice to meet you, ", "Your name is ")
            )
            said = said.replace("!", ".")
            if question["kind"] == "fact_told":
                told[said] = place
            if question["kind"] in ("fact", "fact_corrected") and "You have a" not in said:
                assert said in told
                known += 1
                corrected += question["kind"] == "fact_corrected"
                distance = max(distance, place - told[said])
            if question["kind"] == "no_fact":
                assert "know" in said
    assert known > 70 and corrected > 7 and distance > 10


def test_held_out_paraphrases_of_chitchat_are_not_practised() -> None:
    lists = [row["ask"] for row in LISTS["reactions"]] + [LISTS["bigger"]]
    for wordings in lists:
        held = share(wordings, "dev") + share(wordings, "test")
        assert held and FURTHER[wordings[0]]
        assert not set(held) & {*share(wordings, "train"), *FURTHER[wordings[0]]}


def test_what_is_slow_to_learn_comes_more_often_in_training_alone() -> None:
    shares = {}
    for split in ("train", "dev", "test"):
        kinds = [segment.kind for seed in range(60) for segment in dialogue(seed, split)]
        shares[split] = kinds.count("again") / len(kinds)
    assert shares["train"] > 1.5 * max(shares["dev"], shares["test"])


def test_chitchat_is_right_by_its_own_check_and_animals_keep_their_order() -> None:
    for kind, (make, _) in CHITCHAT.items():
        draw = Draw(random.Random(kind), "train")
        for _ in range(50):
            turn = make(draw)[0]
            assert score_turn(turn.answer, {"answer": turn.answer, "accept": turn.accept})
            if kind == "bigger":
                large = turn.answer.removesuffix(" is bigger.").split(" ", 1)[1]
                small = next(
                    a for a in LISTS["by_size"] if f" {a}" in turn.question.replace(large, "")
                )
                assert LISTS["by_size"].index(large) > LISTS["by_size"].index(small)


def test_the_quiz_leaves_out_what_the_world_knows_and_has_three_parts(tmp_path) -> None:
    assert outside("Who wrote the first novel about a whale?")
    assert not outside("What is the capital of Peru, a country in the south?")
    assert not outside("Which of these is a bird that cannot fly?")
    assert quiz(None, "train") == []
    parts = [quiz_split(f"Who was person number {i}?") for i in range(300)]
    assert parts.count("train") > 240 and {"dev", "test"} < set(parts)
