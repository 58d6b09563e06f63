"""Pictures, clips and recordings in words: what is thought about them, with questions and answers.

"Is there a dog?" – "<think>On a white background: B2 small red circle one top left. So: a red circle.
Question: a dog no.</think>No." So the Thinker learns to reason about what it will see and hear before
it does either. Sometimes the user tells it instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from data.dialogue.draw import Draw
from data.dialogue.typed import casual
from data.roll_call import of_pictures, of_statements
from data.scenes.clips import clip_questions, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.questions import questions
from data.scenes.sampling import sample_scene
from data.scenes.several import sample_several, several_questions
from data.scenes.thinking import clip_thinking, scene_thinking, several_thinking
from data.speech.statement_pairs import pair_questions
from data.speech.statement_questions import questions as statement_questions
from data.speech.statements import statement
from data.turns import text_part, thinking_part, turn

MOST = 7  # questions of a picture or recording
PAIRED = 0.3  # of the statements come in twos
BY_USER = 0.3  # of the conversations: the user tells
SPOKEN = 0.15  # of those about a picture: its first question was spoken, so thinking writes it down


class Told(NamedTuple):
    """What is told as thinking tells it, and groups of questions that belong together."""

    asked: list[list[dict]]
    seen: str = ""
    heard: tuple[str, ...] = ()  # a line a recording

    @property
    def text(self) -> str:
        """As somebody would say it."""
        return "\n".join(self.heard) or self.seen


def _scene(rng: random.Random, split: str, objects: str) -> Told:
    scene = sample_scene(rng, split, objects)
    asked = [[question] for question in questions(scene, rng, split, objects)]
    asked += follow_ups(scene, rng, objects) + of_pictures([scene], rng, objects)
    return Told(asked, scene_thinking(scene))


def _clip(rng: random.Random, split: str, objects: str) -> Told:
    clip = sample_clip(rng, split, objects)
    return Told([[question] for question in clip_questions(clip, rng, split)], clip_thinking(clip))


def _several(rng: random.Random, split: str, objects: str) -> Told:
    pictures = sample_several(rng, split, objects)
    asked = [[question] for question in several_questions(pictures, rng, split, objects)]
    return Told(asked + of_pictures(pictures.scenes, rng, objects), several_thinking(pictures.scenes))


def _statement(rng: random.Random, split: str, objects: str, rounds: int = 1) -> Told:
    """One or two statements; questions about them are drawn `rounds` times."""
    records = [statement(rng, split)]
    ask = partial(statement_questions, records[0], Draw(rng, split))
    if rng.random() < PAIRED:
        records.append(statement(rng, split))
        ask = partial(pair_questions, *records, rng, split)
    asked = {one["question"]: [one] for _ in range(rounds) for one in ask()}
    groups = list(asked.values()) + of_statements(records, rng, split)
    return Told(groups, heard=tuple(record["text"] for record in records))


Makers = dict[Callable[[random.Random, str, str], Told], int]  # and how often each is called
MAKERS: Makers = {_scene: 5, _clip: 2, _several: 2, _statement: 3}
# For the joint stage: what was right least often after the Thinker's own, and more questions about it.
HARDER: Makers = {_scene: 3, _clip: 1, _several: 3, partial(_statement, rounds=3): 6}
MORE = 12  # questions


def _told(rng: random.Random, split: str, objects: str, makers: Makers) -> Told:
    """Something told, with at least one question."""
    while True:
        make = rng.choices(tuple(makers), tuple(makers.values()))[0] if objects == "all" else _scene
        told = make(rng, split, objects)
        if any(told.asked):
            return told


def in_words(
    rng: random.Random, split: str, objects: str = "all", makers: Makers = MAKERS, most: int = MOST
) -> list[dict]:
    """A conversation about something told: messages as the tokenizer encodes them.

    Args:
        objects: of the picture world (data/scenes/sampling.py); in a smaller one only pictures are told.
        most: questions.
    """
    told = _told(rng, split, objects, makers)
    rng.shuffle(told.asked)
    questions = [one for group in told.asked for one in group][:most]
    asked = [casual(rng, split, one["question"], one["answer"]) for one in questions]
    thinking = []
    if rng.random() < BY_USER:
        asked[0] = f"{told.text} {asked[0]}"
    elif told.seen.startswith("On ") and rng.random() < SPOKEN:  # one picture
        thinking, asked[0] = [thinking_part([questions[0]["question"]], told.seen, questions[0])], ""
    else:
        thinking = [thinking_part(told.heard, told.seen, questions[0])]
    messages = turn([text_part(asked[0])], questions[0]["answer"], *thinking)
    for words, one in zip(asked[1:], questions[1:], strict=True):
        messages += turn([text_part(words)], one["answer"])
    return messages
