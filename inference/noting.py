"""Notes: what is seen and heard is written down before a question about it is answered.

Pictures open their turn with a question that the user did not ask, `NOTE_QUESTION`, and sounds that
come without words with `TRANSCRIBE_QUESTION`. The answers stay in the context; then comes what the
user asked, a spoken question as it was heard. Beside a picture only its words are kept: as if typed.
One thing after another is easier than all at once: what that gains is measured beside answers from
sight alone.

Drawn things are noted as the finder found them (models/finder.py). What it knows nothing of, such as
photographs, the model notes in its own words, as it learnt to from `data/scenes/notes.py`. What was found is
likelier to be named in the question that is heard beside it (contextual biasing).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.generation import generate_batch
from inference.prompt import Prompt
from models.finder import notes
from models.omni import NOTE_QUESTION, TRANSCRIBE_QUESTION

if TYPE_CHECKING:
    from inference.omni import Omni

NOTE_TOKENS = 160  # the longest notes: nine things take 100
NOTE_BEAMS = 4  # notes of a picture that are followed at once (inference/beams.py)


@dataclass
class Asked:
    """One user turn as it comes."""

    text: str
    images: list[Tensor] = field(default_factory=list)  # each uint8 (3, 224, 224)
    mels: list[Tensor] = field(default_factory=list)  # each float (128, T)
    seen: frozenset[str] = frozenset()  # words for what its picture, or one before, shows


def take_notes(
    omni: Omni, turns: list[Asked], config: GenerateConfig, room: int
) -> list[tuple[Prompt, Asked]]:
    """For each turn what has been written down of its media, and what is left to ask.

    Notes depend on nothing that was said before. Media that leave no room for notes have none.
    """
    opened = [Prompt([]) for _ in turns]
    left = [replace(turn) for turn in turns]
    pictures = {
        i: Asked(NOTE_QUESTION, turn.images)
        for i, turn in enumerate(turns)
        if turn.images and omni.model.picture_notes
    }
    for i, noted, seen in _found(omni, pictures, config, room):
        opened[i], left[i].images, left[i].seen = opened[i] + noted, [], seen
    pictures = {i: asked for i, asked in pictures.items() if left[i].images}
    for i, noted, _ in _written(omni, pictures, config, room, config.num_beams or NOTE_BEAMS):
        opened[i], left[i].images = opened[i] + noted, []
    sounds = {
        i: Asked(TRANSCRIBE_QUESTION, mels=turn.mels, seen=turn.seen)
        for i, turn in enumerate(left)
        if turn.mels and not turn.text
    }
    for i, noted, words in _written(omni, sounds, config, room, config.num_beams):
        if not words:  # nothing was made out: the sound itself is left to be answered
            continue
        left[i].mels, left[i].text = [], words
        if not turns[i].images:  # between a picture's notes and the question a sound distracts
            opened[i] = opened[i] + noted
    return list(zip(opened, left, strict=True))


def _found(
    omni: Omni, asked: dict[int, Asked], config: GenerateConfig, room: int
) -> Iterator[tuple[int, Prompt, frozenset[str]]]:
    """By place the turn with what was found in its pictures, where that is all there is to note; and
    the words for it.
    """
    if not asked or omni.model.finder is None:
        return
    device = next(omni.model.parameters()).device
    pixels = torch.stack([image for one in asked.values() for image in one.images])  # (N, 3, 224, 224)
    found = iter(omni.model.find(pixels.to(device)))
    for place, one in asked.items():
        seen = [next(found) for _ in one.images]
        if None in seen or not any(picture.sights for picture in seen):
            continue
        turn = omni.phrase(one)
        reply = omni.tokenizer.encode(notes(seen))
        if len(turn) + len(reply) + NOTE_TOKENS <= room:
            noted = Prompt([*turn.ids, *reply, config.eos_token_id], turn.images)
            yield place, noted, frozenset().union(*(picture.words for picture in seen))


def _written(
    omni: Omni, asked: dict[int, Asked], config: GenerateConfig, room: int, beams: int | None
) -> Iterator[tuple[int, Prompt, str]]:
    """Ask what the user did not: by place the turn with its answer, and the answer's words."""
    phrased = {place: omni.phrase(one) for place, one in asked.items()}
    turns = {i: turn for i, turn in phrased.items() if len(turn) + 2 * NOTE_TOKENS <= room}
    if not turns:
        return
    plain = replace(
        config, max_new_tokens=NOTE_TOKENS, num_beams=beams, temperature=0.0, repetition_penalty=1.0,
        top_k=None, top_p=None, min_p=None, stop_strings=(),
    )
    head = omni.head(None, config)
    replies = generate_batch(omni.model, [head + turn for turn in turns.values()], plain, omni.tokenizer)
    for (place, turn), reply in zip(turns.items(), replies, strict=True):
        ids = [*turn.ids, *reply, config.eos_token_id]
        closed = Prompt(ids, turn.images, turn.mels, noted=len(turn.mels))
        yield place, closed, omni.tokenizer.decode(reply).strip()
