"""Pictures, clips and recordings in words: what is thought about them, with questions and answers.

"Where is the circle?" – "<think>On a white background: B2 small red circle one top left. So: a red
circle.</think>Top left." So the Thinker learns to reason about what it will see and hear before it does
either. Sometimes the user tells it instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

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

Told = tuple[str, list[list[dict]]]  # what is told, and groups of questions that belong together


def _scene(rng: random.Random, split: str, objects: str) -> Told:
    scene = sample_scene(rng, split, objects)
    asked = [[question] for question in questions(scene, rng, split, objects)]
    asked += follow_ups(scene, rng, objects) + of_pictures([scene], rng, objects)
    return scene_thinking(scene), asked


def _clip(rng: random.Random, split: str, objects: str) -> Told:
    clip = sample_clip(rng, split, objects)
    return clip_thinking(clip), [[question] for question in clip_questions(clip, rng, split)]


def _several(rng: random.Random, split: str, objects: str) -> Told:
    pictures = sample_several(rng, split, objects)
    asked = [[question] for question in several_questions(pictures, rng, split, objects)]
    return several_thinking(pictures.scenes), asked + of_pictures(pictures.scenes, rng, objects)


def _statement(rng: random.Random, split: str, objects: str, rounds: int = 1) -> Told:
    """One or two statements; questions about them are drawn `rounds` times."""
    first = statement(rng, split)
    records = [first]
    told, ask = first["text"], partial(statement_questions, first, Draw(rng, split))
    if rng.random() < PAIRED:
        second = statement(rng, split)
        records.append(second)
        told, ask = f"{told}\n{second['text']}", partial(pair_questions, first, second, rng, split)
    asked = {one["question"]: [one] for _ in range(rounds) for one in ask()}
    return told, list(asked.values()) + of_statements(records, rng, split)


Makers = dict[Callable[[random.Random, str, str], Told], int]  # and how often each is called
MAKERS: Makers = {_scene: 5, _clip: 2, _several: 2, _statement: 3}
# For the joint stage: what was right least often after the Thinker's own, and more questions about it.
HARDER: Makers = {_scene: 3, _clip: 1, _several: 3, partial(_statement, rounds=3): 6}
MORE = 12  # questions


def _told(rng: random.Random, split: str, objects: str, makers: Makers) -> tuple[bool, str, list[dict]]:
    """Whether it is a picture, what is told of it, and questions about it."""
    groups: list[list[dict]] = []
    while not any(groups):
        make = rng.choices(tuple(makers), tuple(makers.values()))[0] if objects == "all" else _scene
        told, groups = make(rng, split, objects)
    rng.shuffle(groups)
    return make is _scene, told, [one for group in groups for one in group]


def in_words(
    rng: random.Random, split: str, objects: str = "all", makers: Makers = MAKERS, most: int = MOST
) -> list[dict]:
    """A conversation about something told: messages as the tokenizer encodes them.

    Args:
        objects: of the picture world (data/scenes/sampling.py); in a smaller one only pictures are told.
        most: questions.
    """
    picture, told, questions = _told(rng, split, objects, makers)
    questions = questions[:most]
    asked = [casual(rng, split, one["question"], one["answer"]) for one in questions]
    thinking = []
    if rng.random() < BY_USER:
        asked[0] = f"{told} {asked[0]}"
    elif picture and rng.random() < SPOKEN:
        thinking, asked[0] = [thinking_part(questions[0]["question"], told)], ""
    else:
        thinking = [thinking_part(told)]
    messages = turn([text_part(asked[0])], questions[0]["answer"], *thinking)
    for words, one in zip(asked[1:], questions[1:], strict=True):
        messages += turn([text_part(words)], one["answer"])
    return messages
