"""What is told in words is what thinking tells, and its questions are answered by it."""

import random
import re
from collections import Counter

import pytest

from data.in_words import BY_USER, HARDER, MORE, MOST, SPOKEN, in_words


def drawn(split: str, count: int, objects: str = "all") -> list[list[dict]]:
    return [in_words(random.Random(f"{split}-{i}"), split, objects) for i in range(count)]


def spoken_by(messages: list[dict], role: str) -> list[str]:
    """The words of each turn of one role, thinking apart."""
    return [m["content"][-1]["text"] for m in messages if m["role"] == role]


def opening(messages: list[dict]) -> tuple[str, str]:
    """The user's first words, and the thinking behind the first answer: "" where there is none."""
    first, reply = (m["content"] for m in messages[:2])
    return first[0]["text"], reply[0]["text"] if reply[0]["type"] == "thinking" else ""


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_turns_alternate_and_the_first_tells_something(split):
    kinds = Counter()
    for messages in drawn(split, 300):
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2)
        assert 1 <= len(messages) // 2 <= MOST and all(spoken_by(messages, "assistant"))
        assert all(spoken_by(messages, "user")[1:])
        asked, thought = opening(messages)
        told = thought.split("\n")[-1] or asked  # behind a spoken question
        kind = next((k for k in ("On a", "Picture one") if told.startswith(k)), "other")
        kinds[kind] += 1
        if kind == "On a":
            end = r"$" if thought else r" +\S"  # users ask behind what they tell
            assert re.match(r"On an? .* background: .*So: [^.]+\." + end, told)
    assert kinds["On a"] > 90 and kinds["Picture one"] > 20 and kinds["other"] > 60


def test_users_tell_or_thinking_does_and_some_first_questions_are_spoken():
    ways = Counter()
    for messages in drawn("train", 1000, "few"):
        asked, thought = opening(messages)
        if not thought:
            ways["user"] += asked.startswith("On a")
        elif asked:
            ways["typed"] += thought.startswith("On a")
        else:
            ways["spoken"] += bool(re.match(r".+\nOn a", thought))
    assert sum(ways.values()) == 1000
    assert abs(ways["user"] / 1000 - BY_USER) < 0.05
    assert abs(ways["spoken"] / (1000 - ways["user"]) - SPOKEN) < 0.05


def test_colours_and_counts_that_are_asked_for_are_told():
    checked = 0
    for messages in drawn("train", 300, "shapes"):
        asked, thought = opening(messages)
        told = (thought or asked).split(" So: ")[0].lower()
        for answer in spoken_by(messages, "assistant"):
            if re.fullmatch(r"(red|green|yellow|orange|purple|pink|brown)\.", answer.lower()):
                assert answer[:-1].lower() in told, messages
                checked += 1
    assert checked > 40


def test_the_same_seed_tells_the_same_and_a_small_world_has_pictures_alone():
    assert drawn("train", 20) == drawn("train", 20) != drawn("dev", 20)
    for asked, thought in map(opening, drawn("train", 20, "few")):
        assert (thought.split("\n")[-1] or asked).startswith("On a")


def test_the_joint_stage_hears_more_statements_and_asks_more():
    counts, statements = [], 0
    for i in range(200):
        messages = in_words(random.Random(i), "train", "all", HARDER, MORE)
        asked, thought = opening(messages)
        told = thought.split("\n")[-1] or asked
        seen = told.startswith(("On a", "Picture one")) or re.search(r"[A-G][1-7], ", told)  # a clip's path
        statements += not seen
        questions = spoken_by(messages, "user")
        assert len(questions) <= MORE
        counts.append(len(questions))
    assert statements > 80 and sum(counts) / 200 > MOST
