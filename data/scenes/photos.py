"""Photographs as samples: shards of real pictures, and what is asked and answered about them.

Record of a photograph: {"name", "corpus", "other": what it does not show} and blobs "image" (the
file) and "small" (uint8 (3, 32, 32), as models/resnet.py sees it). The model names what a photograph
shows as a whole; asked for details, it says that it cannot tell them.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from PIL import Image

from data.english import article, upper
from data.readers.photos import Photo, names, photos, present
from data.scenes.paraphrases import practised
from data.shards import Blobs, store
from data.word_lists import read_lists
from models.image import image_to_tensor
from models.resnet import shrink

SHARD_SIZE = 5000
TOGETHER = (  # things that one photograph may show, or two names of one
    {"cloud", "plain", "sea", "forest", "mountain", "road"},
    {"maple tree", "oak tree", "palm tree", "pine tree", "willow tree", "forest", "plain"},
    {"plate", "table", "bowl", "cup", "can", "bottle"}, {"man", "boy"}, {"woman", "girl"}, {"man", "woman"},
    {"shirt", "t-shirt", "longsleeve", "outwear"}, {"automobile", "pickup truck", "truck"},
)  # fmt: skip
PLURAL = {"pants", "shorts", "shoes", "cattle"}
BARE = {"outwear", "sea"} | PLURAL  # said without an article
# (train, held out for dev and test); {x} is a thing with its article.
_READ = read_lists(__file__, "photos")
NAME, CAPTION, CHECK, DETAIL = (_READ[kind] for kind in ("name", "caption", "check", "detail"))
NO_DETAIL = "I can name what a photo shows, but I cannot make out its details."


def phrase(name: str) -> str:
    """"fox" -> "a fox"; "pants" -> "pants"."""
    return name if name in BARE else article(name)


def photo_thinking(record: dict) -> str:
    """What is written down of a photograph before it is asked about."""
    return f"A photo of {phrase(record['name'])}."


def alike(one: str, other: str) -> bool:
    """Whether what shows one may well show the other: no question is whether it does."""
    return any({one, other} <= group for group in TOGETHER)


def in_plural(question: str) -> str:
    """Of what is said in the plural: "Are these pants?"."""
    question = re.sub(r"\bthis is\b", "these are", question).replace("Is there", "Are there")
    question = question.replace("Is this thing", "Are these things")
    question = re.sub(r"\bIs it (?!true|a )", "Are they ", question)
    return re.sub(r"\bIs this (?!an? )", "Are these ", question)


def photo_question(record: dict, kind: str, rng: random.Random, split: str) -> dict:
    """One question of a kind: name, caption, check or detail."""
    asked, answer = {
        "name": (NAME, upper(phrase(record["name"])) + "."),
        "caption": (CAPTION, photo_thinking(record)),
        "check": (CHECK, "Yes."),
        "detail": (DETAIL, NO_DETAIL),
    }[kind]
    question = practised(rng, f"photo_{kind}", asked[0]) if split == "train" else rng.choice(asked[1])
    rationale = ""
    if kind == "check":
        true = rng.random() < 0.5
        asked_for = record["name"] if true or alike(record["name"], record["other"]) else record["other"]
        answer = "Yes." if asked_for == record["name"] else "No."
        question = question.replace("{x}", phrase(asked_for))
        rationale = f"{phrase(asked_for)} {answer[:-1].lower()}"
        if asked_for in PLURAL:
            question = in_plural(question)
    return {"kind": kind, "question": question, "answer": answer, "rationale": rationale}


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


def _blobs(photo: Photo) -> Blobs:
    with Image.open(io.BytesIO(photo.encoded)) as image:
        small = shrink(image_to_tensor(image)[None])[0]  # (3, 32, 32)
    return {"image": photo.encoded, "small": small.round().byte().numpy()}


def build_photos(folder: Path, real: Path | None, split: str, limit: int | None = None) -> int:
    """Fill `folder` with the photographs of a split; returns how many were added.

    What is there already is left as it is: then none. Without any set, nothing is made.

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
            yield {"name": photo.name, "corpus": corpus, "other": other}, _blobs(photo)
