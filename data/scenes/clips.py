"""Short clips: four frames of one scene in which exactly one thing changes, or nothing does."""

from __future__ import annotations

import copy
import os
import random
from dataclasses import asdict, dataclass
from pathlib import Path

import av
import numpy as np
from PIL import Image

from data.english import article, upper
from data.scenes.captions import noun
from data.scenes.objects import COLORS, held_out
from data.scenes.paraphrases import ask
from data.scenes.questions import Question, referents
from data.scenes.render import render
from data.scenes.scene import SIZE, Scene, Thing, sample_scene

FRAMES = 4
CHANGES = (
    "left",
    "right",
    "up",
    "down",
    "grows",
    "shrinks",
    "appears",
    "disappears",
    "turns",
    "still",
)
MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
TRAVEL = (70, 110)  # pixels between the first frame and the last
FPS = 25  # of a written file


@dataclass
class Clip:
    """The scene of every frame, what changes and which thing it is (-1: none)."""

    change: str
    thing: int
    frames: list[Scene]

    def to_dict(self) -> dict:
        return asdict(self)


def _clear(thing: Thing, others: list[Thing]) -> bool:
    """Inside the picture and not over another thing."""
    half = thing.side / 2
    if not (half - 6 <= thing.x <= SIZE - half + 6 and half - 6 <= thing.y <= SIZE - half + 6):
        return False
    return all(
        abs(thing.x - o.x) > (thing.side + o.side) / 2 - 6
        or abs(thing.y - o.y) > (thing.side + o.side) / 2 - 6
        for o in others
    )


def _changed(
    thing: Thing, change: str, share: float, travel: float, color: str, rgb: tuple[int, int, int]
) -> Thing | None:
    """The thing when `share` (0 to 1) of the change is done; None when it cannot be seen."""
    thing = copy.deepcopy(thing)
    if change in MOVES:
        thing.x = round(thing.x + MOVES[change][0] * travel * share, 1)
        thing.y = round(thing.y + MOVES[change][1] * travel * share, 1)
    elif change in ("grows", "shrinks"):
        factor = 2.1 if change == "grows" else 1 / 2.1
        thing.side = round(thing.side * factor**share, 1)
    elif (change == "appears" and share < 0.5) or (change == "disappears" and share > 0.5):
        return None
    elif change == "turns" and share > 0.5:
        thing.color, thing.rgb = color, rgb
    return thing


def sample_clip(rng: random.Random, split: str, objects: str = "all", frames: int = FRAMES) -> Clip:
    """A clip whose change is evenly drawn; scenes are drawn until one has room for it."""
    change = rng.choice(CHANGES)
    while True:
        scene = sample_scene(rng, split, objects, layout="several")
        scene.noise, scene.blur = min(scene.noise, 3.0), 0.0
        index = rng.randrange(len(scene.things))
        thing = scene.things[index]
        if len(scene.things) > 3 or thing not in [t for _, t in referents(scene)]:
            continue
        if len({t.name for t in scene.things}) < len(scene.things):
            continue
        if change == "still":
            return Clip(change, -1, [copy.deepcopy(scene) for _ in range(frames)])
        if change == "turns" and thing.kind != "shape":
            continue
        if (change == "grows") != (thing.size == "small") and change in ("grows", "shrinks"):
            continue
        travel, color = rng.uniform(*TRAVEL), rng.choice(list(COLORS))
        if change == "turns" and (
            color in (thing.color, scene.background.color)
            or (split == "train" and held_out(thing.name, color))
        ):
            continue
        rest = scene.things[:index] + scene.things[index + 1 :]
        last = _changed(thing, change, 1.0, travel, color, COLORS[color])
        steps = [
            _changed(thing, change, k / (frames - 1), travel, color, COLORS[color])
            for k in range(frames)
        ]
        if last is not None and not all(_clear(t, rest) for t in steps if t is not None):
            continue
        return Clip(change, index, [_with(scene, index, step) for step in steps])


def _with(scene: Scene, index: int, thing: Thing | None) -> Scene:
    frame = copy.deepcopy(scene)
    frame.things[index : index + 1] = [] if thing is None else [thing]
    return frame


def _thing(clip: Clip) -> Thing:
    """The changing thing as it is first seen."""
    seen = clip.frames[-1] if clip.change == "appears" else clip.frames[0]
    return seen.things[clip.thing]


def clip_answer(clip: Clip) -> str:
    """ "The red circle moves to the right." """
    if clip.change == "still":
        return "Nothing changes."
    thing = _thing(clip)
    if clip.change == "appears":
        return upper(f"{article(noun(thing))} appears.")
    if clip.change == "turns":
        return f"The {noun(thing)} turns {clip.frames[-1].things[clip.thing].color}."
    verb = {
        "left": "moves to the left",
        "right": "moves to the right",
        "up": "moves up",
        "down": "moves down",
    }
    return f"The {noun(thing)} {verb.get(clip.change, clip.change)}."


def clip_questions(clip: Clip, rng: random.Random, split: str) -> list[Question]:
    """What happens (always), and of a move which way, and a balanced yes or no."""
    out = [
        {"kind": "change", "question": ask(rng, "change", split), "answer": clip_answer(clip)}
        for _ in range(2)
    ]
    if clip.change not in MOVES:
        return out[:1] if out[0]["question"] == out[1]["question"] else out
    name = noun(_thing(clip))
    way = {"left": "to the left", "right": "to the right"}
    out.append(
        {
            "kind": "change",
            "question": ask(rng, "direction", split, x=name),
            "answer": f"The {name} moves {way.get(clip.change, clip.change)}.",
        }
    )
    yes = rng.random() < 0.5
    asked = clip.change if yes else rng.choice([m for m in MOVES if m != clip.change])
    out.append(
        {
            "kind": "exists",
            "question": f"Does the {name} move {way.get(asked, asked)}?",
            "answer": "Yes." if yes else "No.",
        }
    )
    return out


def render_clip(clip: Clip) -> list[Image.Image]:
    return [render(frame) for frame in clip.frames]


def write_video(path: str | Path, images: list[Image.Image]) -> None:
    """H.264 mp4 of the images at `FPS`."""
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    with av.open(str(temporary), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = SIZE, SIZE, "yuv420p"
        stream.options = {"crf": "18"}
        for image in images:
            frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    os.replace(temporary, path)
