"""Photographs as lessons: shards of real pictures, and what is asked and answered about them.

Record of a photograph: {"name", "corpus", "other": what it does not show} and the blob "image",
the file. The model names what a photograph shows as a whole; asked for details, it says that it cannot
tell them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from data.readers.photos import Photo, names, photos, present
from data.scenes.captions import sentence
from data.scenes.paraphrases import pick_for_training
from data.scenes.thinking import photo_thinking
from data.shards import Blobs, store
from data.english import article

SHARD_SIZE = 5000
PLURAL = {"pants", "shorts", "shoes", "cattle"}
BARE = {"outwear", "sea"} | PLURAL  # said without an article
# (train, held out for dev and test); {x} is a thing with its article.
NAME = (
    (
        "What is this?",
        "What is in the picture?",
        "What is in this photo?",
        "What is in the photo?",
        "What does the photo show?",
        "What does the picture show?",
        "What do you see?",
        "What can you see in the photo?",
        "Name the object in the photo.",
        "Name the thing in the picture.",
        "Name the object.",
        "What object is this?",
        "What is shown here?",
        "What am I looking at?",
        "What is the main object in this image?",
        "What is in this image?",
        "Which object does this photograph show?",
        "Tell me what this is.",
        "Can you name what is in the photo?",
        "What is this a photo of?",
        "What is this a picture of?",
        "Name what you see.",
        "What kind of thing is in the picture?",
        "Identify the object in the image.",
    ),
    (
        "What have we got here?",
        "Which object is in the image?",
        "Say what is in the photo.",
        "What is the object in this photo?",
        "Please name the object in this picture.",
    ),
)
CAPTION = (
    (
        "Describe the picture.",
        "Describe the photo.",
        "Describe this image.",
        "Tell me about the photo.",
        "Give a caption.",
        "What is going on in the picture?",
    ),
    ("Put the photo into words.", "Could you describe this image for me?"),
)
CHECK = (
    (
        "Is this {x}?",
        "Is it {x}?",
        "Is there {x} in the photo?",
        "Do you see {x}?",
        "Does the picture show {x}?",
        "Is this a photo of {x}?",
    ),
    ("Would you say this is {x}?", "Can you see {x} here?"),
)
DETAIL = (
    (
        "What color is it?",
        "How many things are there?",
        "Where is it in the picture?",
        "What is in the background?",
        "What color is the background?",
        "How old is it?",
        "What is on the left?",
        "Is it big or small?",
        "What does the sign say?",
    ),
    ("Which color does it have?", "What is next to it?"),
)
NO_DETAIL = "I can name what a photo shows, but I cannot make out its details."


def phrase(name: str) -> str:
    """"fox" -> "a fox"; "pants" -> "pants"."""
    return name if name in BARE else article(name)


def photo_caption(record: dict) -> str:
    """What a photograph is said to be."""
    return f"A photo of {phrase(record['name'])}."


def photo_thought(record: dict) -> str:
    """What is thought of a photograph before it is asked about."""
    return photo_thinking(phrase(record["name"]))


def photo_question(record: dict, kind: str, rng: random.Random, split: str) -> dict:
    """One question of a kind: name, caption, check or detail."""
    asked, answer = {
        "name": (NAME, sentence(phrase(record["name"])) + "."),
        "caption": (CAPTION, photo_caption(record)),
        "check": (CHECK, "Yes."),
        "detail": (DETAIL, NO_DETAIL),
    }[kind]
    question = pick_for_training(rng, f"photo_{kind}", asked[0]) if split == "train" else rng.choice(asked[1])
    if kind == "check":
        true = rng.random() < 0.5
        asked_for = record["name"] if true else record["other"]
        answer = "Yes." if true else "No."
        question = question.replace("{x}", phrase(asked_for))
        if asked_for in PLURAL:
            question = question.replace("Is there", "Are there").replace("Is this", "Are these")
    return {"kind": kind, "question": question, "answer": answer}


def photo_questions(record: dict, rng: random.Random, split: str) -> list[dict]:
    """One to four questions about a photograph, the name among the first of them."""
    kinds = ["name"] + rng.choices(("name", "caption", "check", "detail"), (2, 2, 3, 1), k=3)
    kinds = kinds[: rng.randint(1, 4)]
    rng.shuffle(kinds)
    return [photo_question(record, kind, rng, split) for kind in kinds]


def named(answer: str, known: list[str]) -> set[str]:
    """Which of the known things an answer names; "pickup truck" is no truck."""
    longest = sorted(known, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest)
    return set(re.findall(rf"(?<![\w-])(?:{pattern})(?![\w-])", answer.lower()))


def build_photos(folder: Path, real: Path | None, split: str, limit: int | None = None) -> int:
    """Fill `folder` with the photographs of a split; returns how many it holds.

    What is there already is left as it is. Without any set, nothing is made.

    Args:
        limit: at most so many of each set.
    """
    if folder.is_dir():
        return 0
    return store(folder, _items(real, split, limit), SHARD_SIZE)


def _items(real: Path | None, split: str, limit: int | None) -> Iterator[tuple[dict, Blobs]]:
    for corpus in present(real):
        known, rng = names(real, corpus), random.Random(f"photos-{corpus}-{split}")
        for photo in islice(photos(real, corpus, split), limit):
            other = rng.choice([name for name in known if name != photo.name])
            yield {"name": photo.name, "corpus": corpus, "other": other}, {"image": photo.encoded}
