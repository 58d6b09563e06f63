"""Lessons out of visits (data/visits.py): long conversations, with all that is shown and played in them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from data.scenes.notes import clip_notes, scene_notes
from data.scenes.photos import photo_notes
from data.scenes.scene import Scene
from data.visits import Stretch
from models.omni import TRANSCRIBE_QUESTION
from training.lessons import FRAMES, asked_about, shown, sound_part, text_part, turn

# Tokens of a visit; the rows of a batch are as long as its longest lesson, and the long ones cost most.
BUDGETS = (256, 512, 512, 512, 768, 768, 768, 1000)


def visit_lesson(
    visit: Iterable[Stretch], rng: random.Random, tokens: Callable[[list[dict]], int], most: int
) -> dict:
    """A visit as a lesson of at most so many tokens; its first stretch is always in it.

    Args:
        tokens: how many a list of messages has.
    """
    messages: list[dict] = []
    media: list[Stretch] = []
    for stretch in visit:
        more = said(stretch, rng)
        if messages and tokens(messages + more) > most:
            break
        messages += more
        if stretch.record is not None:
            media.append(stretch)
    return {
        "messages": messages,
        "images": [image for stretch in media for image in pictures(stretch)],
        "sounds": [stretch.record["mel"] for stretch in media if stretch.kind in ("heard", "asked")],
    }


def said(stretch: Stretch, rng: random.Random) -> list[dict]:
    """The messages of a stretch: what comes in is noted first, mostly (`shown`), then asked about."""
    record = stretch.record
    if record is None:
        return asked_about(stretch.asked, [])
    if stretch.kind in ("heard", "asked"):
        content = [sound_part(record), text_part(TRANSCRIBE_QUESTION)]
        return turn(content, record["text"]) + asked_about(stretch.asked, [])
    count = FRAMES if stretch.kind == "clip" else 1
    notes, parts = shown(count, noted(stretch), rng)
    return notes + asked_about(stretch.asked, parts)


def noted(stretch: Stretch) -> str:
    """What is to be written down of what is shown."""
    record = stretch.record
    assert record is not None
    if stretch.kind == "photo":
        return photo_notes(record)
    if stretch.kind == "clip":
        return clip_notes([Scene.from_dict(frame) for frame in record["clip"]["frames"]])
    return scene_notes(Scene.from_dict(record["scene"]))


def pictures(stretch: Stretch) -> list[bytes]:
    """The encoded pictures of a stretch, in reading order."""
    record = stretch.record
    if record is None or stretch.kind in ("heard", "asked"):
        return []
    if stretch.kind == "clip":
        return [record[f"image{i}"] for i in range(FRAMES)]
    return [record["image"]]
