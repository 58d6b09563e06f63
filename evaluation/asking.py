"""Asking many questions quickly: prompts with media out of shards, answered in sorted batches.

The prompts are those that `Omni` builds for its users; only pictures and mels come from memory
instead of from files.
"""

from __future__ import annotations

import torch
from torch import Tensor
from tqdm import tqdm

from inference.generation import generate_batch
from inference.omni import Omni
from inference.prompt import Prompt
from models.audio import audio_tokens

BATCH = 32  # prompts answered together


class Asker:
    """One checkpoint under examination, greedy."""

    def __init__(self, omni: Omni, max_new_tokens: int = 96):
        self.omni = omni
        self.config = omni.config(max_new_tokens=max_new_tokens)

    def prompt(
        self,
        text: str = "",
        images: list[Tensor] | None = None,
        mels: list[Tensor] | None = None,
        system: str | None = None,
    ) -> Prompt:
        """The first turn of a conversation; images uint8 (3, 224, 224), mels float (128, T)."""
        return self.omni.head(system, self.config) + self._turn(text, images or [], mels or [])

    def follow(self, prompt: Prompt, reply: list[int], text: str) -> Prompt:
        """The conversation so far, and the next question."""
        return prompt + Prompt([*reply, self.config.eos_token_id]) + self._turn(text, [], [])

    def _turn(self, text: str, images: list[Tensor], mels: list[Tensor]) -> Prompt:
        parts = [{"type": "image"} for _ in images]
        parts += [{"type": "audio", "tokens": audio_tokens(mel.shape[1])} for mel in mels]
        return Prompt(self.omni.encode_turn(parts, text), images, mels)

    def replies(self, prompts: list[Prompt], desc: str) -> list[list[int]]:
        """Ids of every answer; prompts of like length share a batch, so that little is padding."""
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        replies: list[list[int]] = [[] for _ in prompts]
        with torch.inference_mode(), tqdm(total=len(prompts), desc=desc) as bar:
            for start in range(0, len(order), BATCH):
                picks = order[start : start + BATCH]
                made = generate_batch(self.omni.model, [prompts[i] for i in picks], self.config)
                for i, reply in zip(picks, made, strict=True):
                    replies[i] = reply
                bar.update(len(picks))
        return replies

    def texts(self, replies: list[list[int]]) -> list[str]:
        """Ids to words."""
        return [self.omni.tokenizer.decode(reply) for reply in replies]

    def answers(self, prompts: list[Prompt], desc: str) -> list[str]:
        """The words of every answer."""
        return self.texts(self.replies(prompts, desc))


def another(n: int) -> list[int]:
    """For each item the number of a different one: half way round. Controls are drawn with it."""
    return [(i + max(1, n // 2)) % n for i in range(n)]
