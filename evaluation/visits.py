"""Visits: long conversations that go back and forth between talk, pictures, photographs and recordings.

Everything is of the test split: wordings, scenes, photographs, voices, quiz questions. A visit is one chat
session, which goes on from the model's own answers. Control: the same visits with every picture exchanged
for another visit's.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from tqdm import tqdm

from data.conversation import score_turn
from data.scenes.build import build_scenes
from data.scenes.photos import build_photos
from data.scenes.scoring import normalise, score
from data.shards import ShardReader
from data.speech.asr_corpus import dequantise_mel
from data.talk.beyond import quiz
from data.talk.chatter import CHATTER
from data.visits import Stretch, stretches
from evaluation.asking import another
from evaluation.audio import heard
from evaluation.photos import photo_right, photographed
from evaluation.results import rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import QUESTIONS
from inference.noting import TRANSCRIBE_QUESTION, Asked
from inference.omni import Omni
from training.media import picture

VISITS = 150
TURNS = 16  # of a visit, about as much as the context holds
PLACES = ((1, 4), (5, 8), (9, TURNS))  # turns that are counted together
MOST_TOKENS = 96  # of an answer


@dataclass
class Answered:
    """One question of a visit and what became of it."""

    group: str  # what it is about, and what was before it
    kind: str
    place: int  # in its visit, from 1
    right: bool


def measure(setting: Setting) -> Measured:
    """Figures by what is asked, by place in the visit, and of the control."""
    omni = Omni.from_pretrained(setting.ckpt_dir)
    visits = draw_visits(setting)
    known = photographed(setting)
    figures: Measured = {}
    for name, shown in (("visit", visits), ("visit_shuffled", exchanged(visits))):
        pairs = zip(visits, shown, strict=True)
        answers = [a for asked, seen in tqdm(list(pairs), desc=name) for a in pay(omni, asked, seen, known)]
        figures |= counted(name, answers)
    return figures


def draw_visits(setting: Setting) -> list[list[Stretch]]:
    """Visits of the test split, each of `TURNS` turns at most."""
    scenes = setting.data_dir / "scenes_test"
    build_scenes(scenes, QUESTIONS, SEED, "test", workers=setting.workers)
    readers = {"scene": ShardReader(scenes), "heard": heard(setting)}
    photos = setting.data_dir / "photos_test"
    if setting.real_dir is not None:
        build_photos(photos, setting.real_dir, "test")
    if photos.is_dir():
        readers["photo"] = ShardReader(photos)
    sources = {
        kind: lambda rng, reader=reader: reader[rng.randrange(len(reader))]
        for kind, reader in readers.items()
    }
    asked = quiz(setting.real_dir, "test")
    rngs = [random.Random(f"visit-{SEED}-{i}") for i in range(setting.count(VISITS))]
    return [as_long(stretches(rng, "test", sources, asked)) for rng in rngs]


def as_long(visit) -> list[Stretch]:
    """The beginning of an endless visit: stretches of `TURNS` turns at most together."""
    kept, turns = [], 0
    for stretch in visit:
        turns += len(stretch.asked) or 1
        if turns > TURNS:
            return kept
        kept.append(stretch)


def exchanged(visits: list[list[Stretch]]) -> list[list[Stretch]]:
    """The same visits, each picture and photograph shown being one of another visit."""
    shown = [stretch for visit in visits for stretch in visit if stretch.kind in ("scene", "photo")]
    others = iter([shown[i] for i in another(len(shown))])
    return [[next(others) if s.kind in ("scene", "photo") else s for s in visit] for visit in visits]


def pay(omni: Omni, asked: list[Stretch], seen: list[Stretch], known: list[str]) -> list[Answered]:
    """One visit: what is asked of `asked` while `seen` is shown."""
    session = omni.session(max_new_tokens=MOST_TOKENS)
    view: Stretch | None = None
    said, answered = "", []
    place = 0
    for stretch, shown in zip(asked, seen, strict=True):
        record = shown.record
        came = Asked("")
        if stretch.kind == "heard":
            came = Asked(TRANSCRIBE_QUESTION, mels=[dequantise_mel(record["mel"])])
            said = "".join(session.answer(came, came.text))
            place += 1
            continue
        if stretch.record is not None:
            came, view = Asked("", [picture(record["image"])]), stretch
        for question in stretch.asked:
            place += 1
            reply = "".join(session.answer(Asked(question["question"], came.images), question["question"]))
            came = Asked("")
            group = stretch.kind
            if group == "talk":
                group = "talk_after" if view is not None or said else "talk_before"
            right = judged(reply, question, stretch, view, known, said)
            answered.append(Answered(group, question["kind"], place, right))
    return answered


def judged(
    reply: str, question: dict, stretch: Stretch, view: Stretch | None, known: list[str], said: str
) -> bool:
    """Whether a reply is right. What was heard is right if it is what was said to be heard at first."""
    if stretch.kind == "talk":
        return score_turn(reply, question)
    if stretch.kind == "again":
        return normalise(reply) == normalise(said)
    if view is None or view.kind != "photo":
        return score(reply, question)
    return photo_right(reply, question, view.record["name"], known)


def counted(name: str, answers: list[Answered]) -> Measured:
    """Rates of all, by group, by place, and of the talk that only visits have."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for answer in answers:
        groups["all"].append(answer.right)
        groups[answer.group].append(answer.right)
        low, high = next(pair for pair in PLACES if answer.place <= pair[1])
        groups[f"turns {low} to {high}"].append(answer.right)
        if answer.kind in (*CHATTER, "quiz"):
            groups[f"said: {answer.kind}"].append(answer.right)
    return {f"{name}/{group}": rate(right, SEED) for group, right in groups.items()}
