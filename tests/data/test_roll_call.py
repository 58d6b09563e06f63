"""Roll calls: each verdict agrees with what was told."""

import random
import re

import pytest

from data.dialogue.draw import Draw
from data.roll_call import (
    ITEMS,
    SAID,
    clause_others,
    clause_phrases,
    of_pictures,
    of_statements,
    roll_call,
    scene_phrases,
)
from data.scenes.several import sample_several
from data.speech.statements import statement


def verdicts(question: dict) -> list[tuple[str, str]]:
    """(phrase, verdict) in the order of the answer, after the phrases of the question."""
    asked = re.split(r": |\?$|\.$", question["question"])[1].split(", ")
    said = [part.rsplit(" ", 1) for part in question["answer"][:-1].split(", ")]
    assert [phrase.lower() for phrase, _ in said] == [phrase.lower() for phrase in asked]
    return [(phrase, verdict) for phrase, (_, verdict) in zip(asked, said, strict=True)]



def flat(groups: list[list[dict]]) -> list[tuple[str, str]]:
    """The verdicts of all questions."""
    return [pair for group in groups for question in group for pair in verdicts(question)]


@pytest.mark.parametrize("split", ["train", "dev"])
def test_verdicts_about_statements_agree_with_their_text(split):
    said, seen = {"yes": 0, "no": 0}, 0
    for i in range(400):
        rng = random.Random(f"{split}-{i}")
        record = statement(rng, split)
        for phrase, verdict in flat(of_statements([record], rng, split)):
            said[verdict] += 1
            seen += 1
            words = phrase.removeprefix("a ").removeprefix("an ").lower()
            if verdict == "no":
                assert words not in record["text"].lower()
    assert seen > 400 and min(said.values()) > 0.25 * seen


def test_a_clause_says_its_phrases_and_none_of_the_others():
    for i in range(300):
        rng = random.Random(i)
        record = statement(rng, "train")
        for one in record["facts"]:
            others = clause_others(one, record["text"], Draw(rng, "train"))
            assert not set(others) & clause_phrases(one)
            for phrase in clause_phrases(one):
                last = re.sub(r"(es|s|y|ies)$", "", phrase.split()[-1].lower())[:3]
                assert last in record["text"].lower(), (phrase, record["text"])


def test_verdicts_about_pictures_name_the_one_that_shows_it():
    ways = {"first": 0, "second": 0, "both": 0, "neither": 0}
    for i in range(300):
        rng = random.Random(i)
        scenes = sample_several(rng, "train").scenes
        for phrase, verdict in flat(of_pictures(scenes, rng, "all")):
            there = tuple(phrase in scene_phrases(scene) for scene in scenes)
            right = {(True, False): "first", (False, True): "second", (True, True): "both"}
            assert verdict == right.get(there, "neither")
            ways[verdict] += 1
    assert min(ways.values()) > 40


def test_too_little_is_not_asked_for():
    rng = random.Random(0)
    assert roll_call([{"a dog"}], ["a cat"], SAID, rng) == []
    assert len(verdicts(roll_call([{"a", "b", "c"}], ["x", "y", "z"], SAID, rng)[0])) >= ITEMS[0]
