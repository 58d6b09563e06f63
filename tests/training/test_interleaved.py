"""Samples out of interleaved dialogues: all media are there in reading order, and the length is kept."""

from __future__ import annotations

import random

import numpy as np

from data.interleaved import Segment
from training.interleaved import dialogue_sample


def question(text: str) -> dict:
    return {"kind": "name", "question": text, "answer": "A fox.", "accept": []}


def photo(name: str) -> Segment:
    return Segment("photo", {"name": name, "image": name.encode()}, [question("What is this?")])


def words(messages: list[dict]) -> int:
    """A token for a character, as far as a length goes."""
    parts = [m["content"] for m in messages]
    texts = [p if isinstance(p, str) else "".join(x.get("text", "") for x in p) for p in parts]
    return sum(map(len, texts))


TALK = Segment("talk", None, [question("Hello")])
HEARD = Segment("heard", {"text": "Good day.", "mel": np.zeros((128, 80), np.uint8)})


def test_pictures_and_sounds_come_in_the_order_of_the_messages() -> None:
    dialogue = [photo("fox"), TALK, HEARD, photo("owl")]
    sample = dialogue_sample(dialogue, random.Random(0), words, 10_000)
    assert sample["images"] == [b"fox", b"owl"] and len(sample["sounds"]) == 1
    asked, answers = sample["messages"][::2], sample["messages"][1::2]
    parts = [p["type"] for m in asked if isinstance(m["content"], list) for p in m["content"]]
    assert [p for p in parts if p != "text"] == ["image", "audio", "image"]
    assert answers[-1]["content"][-1]["text"] == "A fox."


def test_a_sample_ends_before_it_is_too_long_but_never_without_its_first_stretch() -> None:
    dialogue = [TALK] * 50
    sample = dialogue_sample(dialogue, random.Random(0), words, 100)
    assert 80 < words(sample["messages"]) <= 100
    assert len(dialogue_sample(dialogue, random.Random(0), words, 1)["messages"]) == 2
    cut = dialogue_sample([TALK, photo("fox")], random.Random(0), words, 12)
    assert cut["images"] == [] and len(cut["messages"]) == 2
