"""Prompts as the product makes them, for tests."""

from __future__ import annotations

from inference.config import GenerateConfig
from inference.omni import Omni
from inference.prompt import Prompt


def first_turn(
    omni: Omni, text=None, image=None, audio=None, video=None, system_prompt=None,
    config: GenerateConfig | None = None,
) -> Prompt:
    """The prompt of a conversation's first turn, with thinking where the config wants it."""
    question = omni.take(text, image, audio, video)
    return omni.prompts([question], config or omni.config(), system_prompt)[0]


def plain_turn(omni: Omni, text=None, image=None, audio=None) -> Prompt:
    """One user turn and the opening of its answer, without bos and thinking."""
    return omni.phrase(omni.take(text, image, audio))
