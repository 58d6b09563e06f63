"""Naming what real photographs show, on test parts that no training saw.

Asked through the chat in held-out wordings; an answer is right when it names the label and nothing
else that photographs show. The control is another photograph.
"""

from __future__ import annotations

import random

from data.readers.photos import FILES, names
from data.scenes.photos import build_photos, named, photo_question
from data.scenes.scoring import normalise
from data.shards import ShardReader
from evaluation.asking import Asker, another, user_turn
from evaluation.results import by_kind, rate
from evaluation.setting import SEED, Measured, Setting
from training.media import picture

PHOTOS, CONTROLS = 1200, 200  # at most, of each set (all of CIFAR-10's); of all in each control


def ask_photos(asker: Asker, setting: Setting) -> Measured:
    """Figures by set, of yes-and-no questions, and of the controls; none without real data."""
    folder = setting.data_dir / "photos_test"
    if setting.real_dir is None:
        return {}
    build_photos(folder, setting.real_dir, "test")
    if not folder.is_dir():
        return {}
    shards = ShardReader(folder)
    known = photographed(setting)
    chosen = pick(shards, setting.count(PHOTOS))
    every = [i for picks in chosen.values() for i in picks]
    figures: Measured = {}
    for corpus, picks in chosen.items():
        figures[f"photo/{corpus}"] = rate(asking(asker, shards, "name", picks, picks, known, corpus))
    few = random.Random(SEED).sample(every, min(setting.count(CONTROLS), len(every)))
    checked = asking(asker, shards, "check", few, few, known, "photos, yes or no")
    figures["photo/check"] = rate(checked)
    return figures | shuffled(asker, shards, few, known)


def shuffled(asker: Asker, shards: ShardReader, few: list[int], known: list[str]) -> Measured:
    """The controls: another photograph is shown."""
    wrong = [few[i] for i in another(len(few))]
    sets = [shards.record(i)["corpus"] for i in few]
    right = asking(asker, shards, "name", few, wrong, known, "photos, shuffled")
    checked = asking(asker, shards, "check", few, wrong, known, "photos, yes or no, shuffled")
    return by_kind("photo_shuffled", sets, right) | {"photo_shuffled/check": rate(checked)}


def photographed(setting: Setting) -> list[str]:
    """All that photographs show."""
    if setting.real_dir is None:
        return []
    return sorted({name for corpus in FILES for name in names(setting.real_dir, corpus)})


def pick(shards: ShardReader, count: int) -> dict[str, list[int]]:
    """Numbers of at most `count` photographs of each set, drawn as they come."""
    sets: dict[str, list[int]] = {}
    for i in range(len(shards)):
        sets.setdefault(shards.record(i)["corpus"], []).append(i)
    rng = random.Random(SEED)
    return {name: rng.sample(all_, min(count, len(all_))) for name, all_ in sets.items()}


def asking(
    asker: Asker, shards: ShardReader, kind: str, asked: list[int], seen: list[int], known: list[str],
    desc: str,
) -> list[bool]:
    """Which questions of a kind about the photographs `asked` are answered rightly when `seen` are shown."""
    rng = random.Random(SEED)
    questions = [photo_question(shards.record(i), kind, rng, "test") for i in asked]
    images = [picture(shards[i]["image"]) for i in seen]  # uint8 (3, 224, 224) each
    turns = [user_turn(q["question"], [x]) for q, x in zip(questions, images, strict=True)]
    answers = asker.ask(turns, desc)
    return [
        photo_right(answer, question, shards.record(i)["name"], known)
        for answer, question, i in zip(answers, questions, asked, strict=True)
    ]


def photo_right(answer: str, question: dict, name: str, known: list[str]) -> bool:
    """Whether an answer names the thing and no other known one; else whether it begins as the right one."""
    if question["kind"] in ("name", "caption"):
        return named(answer, known) == {name}
    right = normalise(question["answer"]).split()[:3]
    return normalise(answer).split()[: len(right)] == right
