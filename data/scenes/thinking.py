"""Chain of thought about scenes and clips whose truth is known: what thinking is trained on."""

from __future__ import annotations

from data.english import count_word, upper
from data.scenes.captions import background_phrase, sights, track_sights
from data.scenes.clips import Clip, clip_answer
from data.scenes.scene import Scene
from data.scenes.sights import image_thinking, track_thinking


def scene_thinking(scene: Scene) -> str:
    """"On a white background: B2 small red circle one top left, … So: two red circles and a dog." """
    return image_thinking(background_phrase(scene), sights(scene))


def several_thinking(scenes: list[Scene]) -> str:
    """Pictures one after the other: "Picture one. On a white background: …" """
    return " ".join(
        f"Picture {count_word(i)}. {scene_thinking(scene)}" for i, scene in enumerate(scenes, 1)
    )


def clip_thinking(clip: Clip) -> str:
    """What each thing does from frame to frame, then what changes: "… The car moves up." """
    return f"{upper(track_thinking(track_sights(clip.tracks())))}. {clip_answer(clip)}"
