"""Chain of thought about a scene or clip whose truth is known: what thinking is trained on."""

from __future__ import annotations

from data.scenes.captions import background_phrase, sights
from data.scenes.scene import Scene
from data.scenes.sights import frames_thinking, image_thinking


def scene_thinking(scene: Scene) -> str:
    """"On a white background: small red circle one top left, … So: two red circles and a dog." """
    return image_thinking(background_phrase(scene), sights(scene))


def clip_thinking(frames: list[Scene]) -> str:
    """"Frames: small red circle two two; small red circle two four; …" """
    return frames_thinking([sights(scene) for scene in frames])
