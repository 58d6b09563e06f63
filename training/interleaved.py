"""Samples out of interleaved dialogues (data/interleaved.py), with their images and sounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from data.interleaved import Segment
from data.scenes.clips import FRAMES, Clip
from data.scenes.photos import photo_thinking
from data.scenes.scene import Scene
from data.scenes.thinking import clip_thinking, scene_thinking
from data.turns import text_part, thinking_part, turn
from models.omni import TRANSCRIBE_QUESTION
from training.samples import IMAGE, asked_about, sound_part

# Tokens of a dialogue; the rows of a batch are as long as its longest sample, and the long ones cost most.
BUDGETS = (256, 512, 512, 512, 768, 768, 768, 1000)


def dialogue_sample(
    dialogue: Iterable[Segment], rng: random.Random, tokens: Callable[[list[dict]], int], most: int
) -> dict:
    """A dialogue as a sample of at most so many tokens; its first segment is always in it.

    Args:
        tokens: how many a list of messages has.
    """
    sample: dict = {"messages": [], "images": [], "sounds": []}
    used = 1  # bos, which opens whatever is counted
    for segment in dialogue:
        more = said(segment, rng)
        used += tokens(more) - 1
        if sample["messages"] and used > most:
            return sample
        sample["messages"] += more
        if segment.kind in ("heard", "asked"):
            sample["sounds"].append(segment.record["mel"])
        else:
            sample["images"] += pictures(segment)
    return sample


def said(segment: Segment, rng: random.Random) -> list[dict]:
    """The messages of a segment: questions, the first with what is shown or played, if anything."""
    record = segment.record
    if record is None:
        return asked_about(segment.asked, [], rng)
    if segment.kind == "heard":
        content = [sound_part(record), text_part(TRANSCRIBE_QUESTION)]
        return turn(content, record["text"])
    if segment.kind == "asked":
        asked = segment.asked[0]
        return turn([sound_part(record)], asked["answer"], thinking_part([record["text"]], "", asked))
    images = [IMAGE] * (FRAMES if segment.kind == "clip" else 1)
    return asked_about(segment.asked, images, rng, seen=thinking_about(segment))


def thinking_about(segment: Segment) -> str:
    """The chain of thought about what is shown."""
    record = segment.record
    assert record is not None
    if segment.kind == "photo":
        return photo_thinking(record)
    if segment.kind == "clip":
        return clip_thinking(Clip.from_dict(record["clip"]))
    return scene_thinking(Scene.from_dict(record["scene"]))


def pictures(segment: Segment) -> list[bytes]:
    """The encoded pictures of a segment, in reading order."""
    record = segment.record
    if record is None:
        return []
    if segment.kind == "clip":
        return [record[f"image{i}"] for i in range(FRAMES)]
    return [record["image"]]
