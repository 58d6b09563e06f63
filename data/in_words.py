"""Pictures, clips and recordings in words: what is thought about them, told by the user, with questions.

"Where is the circle?" – "<think>On a white background: B2 small red circle one top left. So: a red
circle.</think>Top left." So the Thinker learns to reason about what it will see and hear before it does
either. Sometimes the user tells it instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from data.dialogue.draw import Draw
from data.dialogue.typed import casual
from data.scenes.clips import clip_questions, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.questions import questions
from data.scenes.sampling import sample_scene
from data.scenes.several import sample_several, several_questions
from data.scenes.thinking import clip_thinking, scene_thinking, several_thinking
from data.speech.statement_pairs import pair_questions
from data.speech.statement_questions import questions as statement_questions
from data.speech.statements import statement

MOST = 7  # questions of a picture or recording
PAIRED = 0.3  # of the statements come in twos
BY_USER = 0.3  # of the conversations: the user tells
SPOKEN = 0.15  # of those about a picture: its first question was spoken, so thinking writes it down

Told = tuple[str, list[list[dict]]]  # what is told, and groups of questions that belong together


def _scene(rng: random.Random, split: str, objects: str) -> Told:
    scene = sample_scene(rng, split, objects)
    asked = [[question] for question in questions(scene, rng, split, objects)]
    return scene_thinking(scene), asked + follow_ups(scene, rng, objects)


def _clip(rng: random.Random, split: str, objects: str) -> Told:
    clip = sample_clip(rng, split, objects)
    return clip_thinking(clip), [[question] for question in clip_questions(clip, rng, split)]


def _several(rng: random.Random, split: str, objects: str) -> Told:
    pictures = sample_several(rng, split, objects)
    asked = several_questions(pictures, rng, split, objects)
    return several_thinking(pictures.scenes), [[question] for question in asked]


def _statement(rng: random.Random, split: str, objects: str) -> Told:
    first = statement(rng, split)
    if rng.random() < PAIRED:
        second = statement(rng, split)
        asked = pair_questions(first, second, rng, split)
        return f"{first['text']}\n{second['text']}", [[question] for question in asked]
    return first["text"], [[question] for question in statement_questions(first, Draw(rng, split))]


MAKERS: dict[Callable[[random.Random, str, str], Told], int] = {
    _scene: 5, _clip: 2, _several: 2, _statement: 3,
}  # fmt: skip


def in_words(rng: random.Random, split: str, objects: str = "all") -> list[dict]:
    """A conversation about something told: {"role", "content"} in turn, content as of the tokenizer.

    Args:
        objects: of the picture world (data/scenes/sampling.py); in a smaller one only pictures are told.
    """
    while True:
        make = rng.choices(tuple(MAKERS), tuple(MAKERS.values()))[0] if objects == "all" else _scene
        told, groups = make(rng, split, objects)
        if groups:
            break
    rng.shuffle(groups)
    questions = [one for group in groups for one in group][:MOST]
    messages: list[dict] = []
    for question in questions:
        asked = casual(rng, split, question["question"], question["answer"])
        messages.append({"role": "user", "content": asked})
        messages.append({"role": "assistant", "content": question["answer"]})
    first, reply = messages[:2]
    if rng.random() < BY_USER:
        first["content"] = f"{told} {first['content']}"
        return messages
    if make is _scene and rng.random() < SPOKEN:
        told, first["content"] = f"{questions[0]['question']}\n{told}", ""
    reply["content"] = [{"type": "thinking", "text": told}, {"type": "text", "text": reply["content"]}]
    return messages
