"""Asking many questions quickly: prompts with media out of shards, answered in sorted batches.

The prompts are those that `Omni` builds for its users; only pictures and mels come from memory
instead of from files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from data.progress import progress
from data.scenes.scoring import score
from inference.generation import generate_batch
from inference.omni import Omni
from inference.prompt import Picture, Prompt, Sound, UserTurn

BATCH = 32  # prompts answered together


def user_turn(text: str, images: Sequence[Tensor] = (), mels: Sequence[Tensor] = ()) -> UserTurn:
    """A user's turn with images uint8 (3, 224, 224) and log-mels (128, T) out of shards."""
    return UserTurn(text, [Picture(image) for image in images], [Sound(mel) for mel in mels])


class Asker:
    """One checkpoint under examination, greedy."""

    def __init__(self, omni: Omni, max_new_tokens: int = 96, **settings):
        self.omni = omni
        self.config = omni.config(max_new_tokens=max_new_tokens, **settings)

    def direct(self) -> Asker:
        """The same, answering without a chain of thought."""
        return Asker(self.omni, self.config.max_new_tokens, think=False)

    def prompts(self, turns: list[UserTurn], system: str | None = None) -> list[Prompt]:
        """First turns of conversations, as a user's are opened."""
        return in_batches(
            turns, lambda turn: sum(sound.mel.shape[1] for sound in turn.sounds),
            lambda some: self.omni.prompts(some, self.config, system),
        )

    def ask(self, turns: list[UserTurn], desc: str) -> list[str]:
        """The words of the answers to first turns."""
        return self.answers(self.prompts(turns), desc)

    def follow(self, prompt: Prompt, reply: list[int], text: str) -> Prompt:
        """The conversation so far, and the next question."""
        closed = Prompt([*reply, self.config.eos_token_id])
        return prompt + closed + self.omni.phrase(UserTurn(text))

    def replies(self, prompts: list[Prompt], desc: str) -> list[list[int]]:
        """Ids of every answer."""
        with torch.inference_mode(), progress(total=len(prompts), desc=desc) as bar:

            def made(some: list[Prompt]) -> list[list[int]]:
                bar.update(len(some))
                return generate_batch(self.omni.model, some, self.config, self.omni.tokenizer)

            return in_batches(prompts, len, made)

    def texts(self, replies: list[list[int]]) -> list[str]:
        """Ids to words."""
        return [self.omni.tokenizer.decode(reply) for reply in replies]

    def answers(self, prompts: list[Prompt], desc: str) -> list[str]:
        """The words of every answer."""
        return self.texts(self.replies(prompts, desc))


def in_batches(items: list, size: Callable, make: Callable[[list], list]) -> list:
    """What `make` makes of each item; those of like size share a batch, so that little is padding."""
    order = sorted(range(len(items)), key=lambda i: size(items[i]))
    made: list = [None] * len(items)
    for start in range(0, len(order), BATCH):
        picks = order[start : start + BATCH]
        for i, result in zip(picks, make([items[i] for i in picks]), strict=True):
            made[i] = result
    return made


def graded(answers: list[str], questions: list[dict]) -> list[bool]:
    """Which answers about pictures are right."""
    return [score(answer, q) for answer, q in zip(answers, questions, strict=True)]


def another(n: int) -> list[int]:
    """For each item the number of a different one: half way round. Controls are drawn with it."""
    return [(i + max(1, n // 2)) % n for i in range(n)]
