"""What is told in words is what thinking tells, and its questions are answered by it."""

import random
import re
from collections import Counter

import pytest

from data import in_words as module
from data.in_words import MOST, in_words


def drawn(split: str, count: int, objects: str = "all") -> list[list[dict]]:
    return [in_words(random.Random(f"{split}-{i}"), split, objects) for i in range(count)]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_turns_alternate_and_the_first_tells_something(split):
    kinds = Counter()
    for messages in drawn(split, 200):
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2)
        assert 1 <= len(messages) // 2 <= MOST and all(m["content"] for m in messages)
        told = messages[0]["content"]
        kind = next((k for k in ("On a", "Picture one") if told.startswith(k)), "other")
        kinds[kind] += 1
        if kind == "On a":
            assert re.match(r"On an? .* background: .*So: [^.]+\. +\S", told)
    assert kinds["On a"] > 60 and kinds["Picture one"] > 3 and kinds["other"] > 40


def test_colours_and_counts_that_are_asked_for_are_told():
    checked = 0
    for messages in drawn("train", 300, "shapes"):
        told = messages[0]["content"].split(" So: ")[0].lower()
        for question, answer in zip(messages[::2], messages[1::2], strict=True):
            if re.fullmatch(r"(red|green|yellow|orange|purple|pink|brown)\.", answer["content"].lower()):
                assert answer["content"][:-1].lower() in told, (question, told)
                checked += 1
    assert checked > 40


def test_the_same_seed_tells_the_same_and_a_small_world_has_pictures_alone(monkeypatch):
    assert drawn("train", 20) == drawn("train", 20) != drawn("dev", 20)
    monkeypatch.setattr(module, "MAKERS", {})
    assert all(m[0]["content"].startswith("On a") for m in drawn("train", 20, "few"))
