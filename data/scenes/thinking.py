"""Chain of thought about pictures and clips whose truth is known: what the Thinker learns to write.

A picture: its ground, then its things in reading order with size and place, those of a kind together and
counted, then their number: "On white: large dog c2, small red circle f6 g7 two. Three." Places are squares
of an 8 × 8 board (`Scene.square`). A size is said where it differs from the one before.

A clip: each thing with its square in each frame, then the change: "Small car b6 c6 e6 f6; large tree d2
d2 d2 d2. The car moves to the right." Movement, growth and appearing differ in words.

Paper: Wei et al., Chain-of-thought prompting, arXiv:2201.11903.
"""

from __future__ import annotations

from data.english import count_word
from data.scenes.captions import noun, sentence
from data.scenes.scene import Scene, Thing

GONE = "gone"  # in place of a square, in a frame that lacks the thing
OPEN, CLOSE = "<think>", "</think>"


def wrapped(thought: str) -> str:
    """As it stands before an answer."""
    return f"{OPEN}{thought}{CLOSE}"


def background_words(scene: Scene) -> str:
    """ "On striped blue"."""
    if scene.gray:
        return "In gray"
    if not scene.background.color:
        return "On a mix"
    striped = "striped " if scene.background.kind == "stripes" else ""
    return f"On {striped}{scene.background.color}"


def _name(thing: Thing) -> str:
    return f"sign {thing.text.lower()}" if thing.kind == "sign" else noun(thing)


def _group(scene: Scene, things: list[Thing]) -> str:
    """ "small red circle f6 g7 large h8 three"."""
    said, size = [], ""
    for thing in things:
        if thing.kind != "sign" and thing.size != size:
            size = thing.size
            said.append(size)
        if thing is things[0]:
            said.append(_name(thing))
        said.append(scene.square(thing))
    if len(things) > 1:
        said.append(count_word(len(things)))
    return " ".join(said)


def scene_thinking(scene: Scene) -> str:
    """What is thought of a picture before it is asked about."""
    told = ", ".join(_group(scene, things) for things in scene.in_order()) or "nothing"
    text = f"{background_words(scene)}: {told}."
    if len(scene.things) < 2:
        return text
    return f"{text} {sentence(count_word(len(scene.things)))}."


def photo_thinking(phrase: str) -> str:
    """Of a photograph; `phrase` is what it shows, with its article."""
    return f"A photograph of {phrase}."


def several_thinking(thoughts: list[str]) -> str:
    """Of several pictures in one request: one after the other, numbered."""
    return " ".join(f"Picture {i}. {thought}" for i, thought in enumerate(thoughts, 1))


def _track(frames: list[Scene], track: list[Thing | None]) -> str:
    """A thing's square in each frame; its size and a new colour where they change."""
    first = next(thing for thing in track if thing is not None)
    said, size, color, named = [], "", first.color, False
    for scene, thing in zip(frames, track, strict=True):
        if thing is None:
            if not named:
                said.append(_name(first))
            named = True
            said.append(GONE)
            continue
        if thing.kind != "sign" and thing.size != size:
            size = thing.size
            said.append(size)
        if not named:
            said.append(_name(first))
            named = True
        if thing.color != color:
            color = thing.color
            said.append(color)
        said.append(scene.square(thing))
    return " ".join(said)


def clip_thinking(frames: list[Scene], tracks: list[list[Thing | None]], answer: str) -> str:
    """What is thought of a clip.

    Args:
        tracks: of each thing, what it is in each frame; None where it is not there.
        answer: what changes, which ends the thought: "The car moves up."
    """
    told = "; ".join(_track(frames, track) for track in tracks)
    return f"{sentence(told)}. {answer}"


