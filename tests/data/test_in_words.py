"""What is told in words is what thinking tells, and its questions are answered by it."""

import random
import re
from collections import Counter

import pytest

from data.in_words import BY_USER, HARDER, MORE, MOST, SPOKEN, in_words

NOT_BOTH = {("yes", "both"), ("no", "first"), ("no", "second")}  # answer to "Do both …?" and rationale


def drawn(split: str, count: int, objects: str = "all") -> list[list[dict]]:
    return [in_words(random.Random(f"{split}-{i}"), split, objects) for i in range(count)]


def spoken_by(messages: list[dict], role: str) -> list[str]:
    """The words of each turn of one role, thinking apart."""
    return [m["content"][-1]["text"] for m in messages if m["role"] == role]


def opening(messages: list[dict]) -> tuple[str, str]:
    """The user's first words, and what thinking tells before the first answer: "" where there is none."""
    first, reply = (m["content"] for m in messages[:2])
    thought = reply[0]["text"] if reply[0]["type"] == "thinking" else ""
    return first[0]["text"], re.sub(r"\n(Question: .*)?$", "", thought)


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


def test_colours_that_are_asked_for_are_told():
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


def test_thinking_ends_with_what_decides_the_answer():
    """The control: the rationale of another conversation does not."""
    decided = Counter()
    for messages in drawn("train", 600):
        reply = messages[1]["content"]
        found = re.search(r"\nQuestion: (.*)\.$", reply[0]["text"])
        verdict = re.match(r"(Yes|No|Neither|Both|The first|The second)\b", reply[-1]["text"])
        if not found or not verdict or ";" in found[1]:
            continue
        rationale, said = found[1], verdict[1].lower()
        if rationale.endswith((" yes", " no")):
            agrees = (said == "no") == bool(re.search(r" no\b", rationale))
        elif rationale.endswith((" neither", " both", " the first", " the second")):
            agrees = rationale.endswith(said) or (said, rationale.split()[-1]) in NOT_BOTH
        else:
            continue
        decided[agrees] += 1
    assert decided[True] > 100 and not decided[False]
