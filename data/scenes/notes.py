"""What notes say of a scene whose truth is known: the lessons from which taking notes is learnt.

The words are those of models/notes.py, which at use are made of what the eyes have found.
"""

from __future__ import annotations

from data.scenes.captions import background_phrase, sights
from data.scenes.scene import Scene
from models.notes import film_notes, picture_notes


def scene_notes(scene: Scene) -> str:
    """"On a white background: small red circle one top left, … So: two red circles and a dog." """
    return picture_notes(background_phrase(scene), sights(scene))


def clip_notes(frames: list[Scene]) -> str:
    """"Frames: small red circle two two; small red circle two four; …" """
    return film_notes([sights(scene) for scene in frames])
