"""Interleaved dialogues: long ones that go back and forth between talk, images and recordings.

Everything is of the test split: paraphrases, scenes, photographs, voices, quiz questions. A dialogue is one
chat session, which goes on from the model's own answers. Control: the same
dialogues with every image exchanged for another dialogue's.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

from data.dialogue.chitchat import CHITCHAT
from data.dialogue.conversation import score_turn
from data.dialogue.out_of_scope import quiz
from data.interleaved import Segment, segments
from data.progress import progress
from data.scenes.build import build_pictures
from data.scenes.photos import build_photos
from data.scenes.scoring import normalise, score
from data.shards import ShardReader
from data.speech.asr_corpus import dequantise_mel
from evaluation.asking import another, user_turn
from evaluation.audio import heard
from evaluation.photos import photo_right, photographed
from evaluation.results import grouped_rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.vision import QUESTIONS
from inference.omni import Omni
from inference.prompt import UserTurn
from models.omni import TRANSCRIBE_QUESTION
from training.media import picture

DIALOGUES = 150
TURNS = 16  # of a dialogue, about as much as the context holds
PLACES = ((1, 4), (5, 8), (9, TURNS))  # turns that are counted together
MOST_TOKENS = 96  # of an answer


@dataclass
class Answered:
    """One question of a dialogue and what became of it."""

    group: str  # what it is about, and what was before it
    kind: str
    place: int  # in its dialogue, from 1
    right: bool


def measure(setting: Setting) -> Measured:
    """Figures by what is asked, by place in the dialogue, and of the control."""
    omni = setting.omni("seeing")
    dialogues = draw_dialogues(setting)
    known = photographed(setting)
    figures: Measured = {}
    for name, shown in (("dialogue", dialogues), ("dialogue_shuffled", exchanged(dialogues))):
        pairs = zip(dialogues, shown, strict=True)
        held = [hold(omni, asked, seen, known) for asked, seen in progress(list(pairs), desc=name)]
        figures |= counted(name, held)
    return figures


def draw_dialogues(setting: Setting) -> list[list[Segment]]:
    """Interleaved dialogues of the test split, each of `TURNS` turns at most."""
    scenes = setting.data_dir / "scenes_test"
    build_pictures(scenes, QUESTIONS, SEED, "test", workers=setting.workers)
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
    rngs = [random.Random(f"visit-{SEED}-{i}") for i in range(setting.count(DIALOGUES))]
    return [as_long(segments(rng, "test", sources, asked)) for rng in rngs]


def as_long(dialogue) -> list[Segment]:
    """The beginning of an endless dialogue: segments of `TURNS` turns at most together."""
    kept, turns = [], 0
    for segment in dialogue:
        turns += len(segment.asked) or 1
        if turns > TURNS:
            return kept
        kept.append(segment)


def exchanged(dialogues: list[list[Segment]]) -> list[list[Segment]]:
    """The same dialogues, each picture and photograph shown being one of another dialogue."""
    shown = [segment for dialogue in dialogues for segment in dialogue if segment.kind in ("scene", "photo")]
    others = iter([shown[i] for i in another(len(shown))])
    return [[next(others) if s.kind in ("scene", "photo") else s for s in one] for one in dialogues]


def hold(omni: Omni, asked: list[Segment], seen: list[Segment], known: list[str]) -> list[Answered]:
    """One dialogue: what is asked of `asked` while `seen` is shown."""
    session = omni.session(max_new_tokens=MOST_TOKENS)
    view: Segment | None = None
    said, answered = "", []
    place = 0
    for segment, shown in zip(asked, seen, strict=True):
        record = shown.record
        came = user_turn("")
        if segment.kind == "heard":
            came = user_turn(TRANSCRIBE_QUESTION, mels=[dequantise_mel(record["mel"])])
            said = "".join(session.answer(came, came.text))
            place += 1
            continue
        if segment.record is not None:
            came, view = user_turn("", [picture(record["image"])]), segment
        for question in segment.asked:
            place += 1
            asks = UserTurn(question["question"], came.images)
            reply = "".join(session.answer(asks, asks.text))
            came = user_turn("")
            group = segment.kind
            if group == "talk":
                group = "talk_after" if view is not None or said else "talk_before"
            right = judged(reply, question, segment, view, known, said)
            answered.append(Answered(group, question["kind"], place, right))
    return answered


def judged(
    reply: str, question: dict, segment: Segment, view: Segment | None, known: list[str], said: str
) -> bool:
    """Whether a reply is right. What was heard is right if it is what was said to be heard at first."""
    if segment.kind == "talk":
        return score_turn(reply, question)
    if segment.kind == "again":
        return normalise(reply) == normalise(said)
    if view is None or view.kind != "photo":
        return score(reply, question)
    return photo_right(reply, question, view.record["name"], known)


def counted(name: str, held: list[list[Answered]]) -> Measured:
    """Rates of all, by group, by place, and of the talk that only dialogues have."""
    groups: dict[str, dict[int, list[bool]]] = defaultdict(lambda: defaultdict(list))  # of each dialogue
    for number, answers in enumerate(held):
        for answer in answers:
            low, high = next(pair for pair in PLACES if answer.place <= pair[1])
            of = ["all", answer.group, f"turns {low} to {high}"]
            if answer.kind in (*CHITCHAT, "quiz", "fact", "fact_corrected", "no_fact"):
                of.append(f"said: {answer.kind}")
            for group in of:
                groups[group][number].append(answer.right)
    return {f"{name}/{group}": grouped_rate([*right.values()]) for group, right in groups.items()}
