"""What is told in words is what thinking tells, and its questions are answered by it."""

import random
import re
from collections import Counter

import pytest

from data import in_words as module
from data.in_words import BY_USER, MOST, SPOKEN, in_words


def drawn(split: str, count: int, objects: str = "all") -> list[list[dict]]:
    return [in_words(random.Random(f"{split}-{i}"), split, objects) for i in range(count)]


def told(messages: list[dict]) -> str:
    """What a conversation is about, wherever it stands, with the question or answer beside it."""
    first, reply = (m["content"] for m in messages[:2])
    return first if isinstance(reply, str) else reply[0]["text"]


def answers(messages: list[dict]) -> list[str]:
    contents = [m["content"] for m in messages[1::2]]
    return [one if isinstance(one, str) else one[1]["text"] for one in contents]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_turns_alternate_and_the_first_tells_something(split):
    kinds = Counter()
    for messages in drawn(split, 300):
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2)
        assert 1 <= len(messages) // 2 <= MOST and all(answers(messages))
        assert all(isinstance(m["content"], str) and m["content"] for m in messages[2:])
        about = told(messages).split("\n")[-1]
        kind = next((k for k in ("On a", "Picture one") if about.startswith(k)), "other")
        kinds[kind] += 1
        if kind == "On a":
            assert re.match(r"On an? .* background: .*So: [^.]+\.", about)
    assert kinds["On a"] > 70 and kinds["Picture one"] > 20 and kinds["other"] > 60


def test_users_tell_or_thinking_does_and_some_first_questions_are_spoken():
    ways = Counter()
    for messages in drawn("train", 1000, "few"):
        first, reply = (m["content"] for m in messages[:2])
        if isinstance(reply, str):
            ways["user"] += first.startswith("On a")
        elif first:
            ways["typed"] += reply[0]["text"].startswith("On a")
        else:
            ways["spoken"] += bool(re.match(r".+\nOn a", reply[0]["text"]))
    assert sum(ways.values()) == 1000
    assert abs(ways["user"] / 1000 - BY_USER) < 0.05
    assert abs(ways["spoken"] / (1000 - ways["user"]) - SPOKEN) < 0.05


def test_colours_and_counts_that_are_asked_for_are_told():
    checked = 0
    for messages in drawn("train", 300, "shapes"):
        about = told(messages).split(" So: ")[0].lower()
        for answer in answers(messages):
            if re.fullmatch(r"(red|green|yellow|orange|purple|pink|brown)\.", answer.lower()):
                assert answer[:-1].lower() in about, messages
                checked += 1
    assert checked > 40


def test_the_same_seed_tells_the_same_and_a_small_world_has_pictures_alone(monkeypatch):
    assert drawn("train", 20) == drawn("train", 20) != drawn("dev", 20)
    monkeypatch.setattr(module, "MAKERS", {})
    assert all("On a" in told(m) for m in drawn("train", 20, "few"))
