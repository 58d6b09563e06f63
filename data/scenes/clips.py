"""Short clips: four frames of one scene in which exactly one thing changes, or nothing does."""

from __future__ import annotations

import copy
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
from data.scenes.questions import Question, referents, thing_answer
from data.scenes.render import render
from data.scenes.sampling import sample_scene
from data.scenes.scene import SIZE, SIZE_BOUNDS, Scene, Thing, size_word
from data.scenes.styles import draw_things, grayed, seen_in_gray
from models.files import replacing

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
SIZES = ("grows", "shrinks")
TRAVEL = (46, 130)  # pixels between the first frame and the last
FACTOR = (1.6, 2.4)  # between the first side and the last
CLEAR = 6.0  # pixels between a first or last side and a bound of the size words
GRAY = 0.06  # of the clips are black and white
FPS = 25  # of a written file
DOES = {  # of a change, as a verb
    "left": "move to the left", "right": "move to the right", "up": "move up", "down": "move down",
    "grows": "grow", "shrinks": "shrink", "appears": "appear", "disappears": "disappear",
}


@dataclass
class Clip:
    """The scene of every frame, what changes and which thing it is (-1: none)."""

    change: str
    thing: int
    frames: list[Scene]

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Clip:
        return cls(data["change"], data["thing"], [Scene.from_dict(f) for f in data["frames"]])

    def tracks(self) -> list[list[Thing | None]]:
        """Of each thing, what it is in each frame; None where it is not there."""
        count = max(len(frame.things) for frame in self.frames)
        rows = [list(frame.things) for frame in self.frames]
        for row in rows:
            if len(row) < count:
                row.insert(self.thing, None)
        return [list(track) for track in zip(*rows, strict=True)]


@dataclass
class Plan:
    """How one change goes: how far, to which colour, and how much of it each frame shows."""

    change: str
    travel: float
    factor: float
    color: str
    shares: list[float]


def _plan(rng: random.Random, change: str, frames: int) -> Plan:
    """Evenly, with a stand at the start or the end, or at once between two frames."""
    even = [k / (frames - 1) for k in range(frames)]
    if change in ("appears", "disappears", "turns"):
        at = rng.randint(1, frames - 1)
        shares = [float(k >= at) for k in range(frames)]
    else:
        wait, end = rng.choice(((0, 0), (0, 0), (0.12, 0.12), (0.3, 0), (0, 0.3)))
        shares = [min(1.0, max(0.0, (s - wait) / (1 - wait - end))) for s in even]
    factor = rng.uniform(*FACTOR) ** (1 if change == "grows" else -1)
    return Plan(change, rng.uniform(*TRAVEL), factor, rng.choice(tuple(COLORS)), shares)


def _changed(thing: Thing, plan: Plan, share: float) -> Thing | None:
    """The thing when `share` (0 to 1) of the change is done; None when it cannot be seen."""
    thing = copy.deepcopy(thing)
    if plan.change in MOVES:
        dx, dy = MOVES[plan.change]
        thing.moved(thing.x + dx * plan.travel * share, thing.y + dy * plan.travel * share)
    elif plan.change in SIZES:
        thing.moved(thing.x, thing.y, plan.factor**share)
    elif (plan.change == "appears" and share < 0.5) or (plan.change == "disappears" and share > 0.5):
        return None
    elif plan.change == "turns" and share > 0.5:
        thing.color, thing.rgb = plan.color, COLORS[plan.color]
    return thing


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


def _told_apart(first: Thing, last: Thing) -> bool:
    """Whether the sizes at both ends are called differently, and neither is borderline."""
    ends = (first.side, last.side)
    clear = all(abs(side - bound) > CLEAR for side in ends for bound in SIZE_BOUNDS)
    return clear and size_word(first.side) != size_word(last.side)


def _possible(scene: Scene, thing: Thing, plan: Plan, split: str) -> bool:
    """Whether the thing can change so in this scene and be told from the others."""
    if plan.change == "turns":
        taken = (thing.color, scene.background.color)
        kept_back = split == "train" and held_out(thing.name, plan.color)
        return thing.kind == "shape" and plan.color not in taken and not kept_back
    steps = [_changed(thing, plan, share) for share in plan.shares]
    shown = [step for step in steps if step is not None]
    if plan.change in SIZES and not _told_apart(shown[0], shown[-1]):
        return False
    others = [t for t in scene.things if t is not thing]
    return all(_clear(step, others) for step in shown)


def _scene(rng: random.Random, split: str, objects: str, styles: tuple[str, ...]) -> Scene:
    """What a clip may begin with."""
    scene = sample_scene(rng, split, objects, "single" if rng.random() < 0.2 else "several")
    scene.noise, scene.blur = min(scene.noise, 3.0), 0.0
    if styles:
        draw_things(scene, rng, styles)
    return scene


def sample_clip(
    rng: random.Random,
    split: str,
    objects: str = "all",
    frames: int = FRAMES,
    styles: tuple[str, ...] = (),
    change: str | None = None,
) -> Clip:
    """A clip whose change is evenly drawn; scenes are drawn until one has room for it."""
    change = change or rng.choice(CHANGES)
    while True:
        scene = _scene(rng, split, objects, styles)
        if styles and change != "turns" and rng.random() < GRAY and seen_in_gray(scene):
            grayed(scene)
        index = rng.randrange(len(scene.things))
        thing = scene.things[index]
        names = {t.name for t in scene.things}
        if len(scene.things) > 3 or len(names) < len(scene.things):
            continue
        if change == "still":
            return Clip(change, -1, [copy.deepcopy(scene) for _ in range(frames)])
        plan = _plan(rng, change, frames)
        if _possible(scene, thing, plan, split):
            steps = [_changed(thing, plan, share) for share in plan.shares]
            return Clip(change, index, [_with(scene, index, step) for step in steps])


def _with(scene: Scene, index: int, thing: Thing | None) -> Scene:
    frame = copy.deepcopy(scene)
    frame.things[index : index + 1] = [] if thing is None else [thing]
    return frame


def _thing(clip: Clip) -> Thing:
    """The changing thing as it is first seen."""
    return next(thing for thing in clip.tracks()[clip.thing] if thing is not None)


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


def _whether(clip: Clip, rng: random.Random, split: str) -> Question:
    """Yes or no, as often: whether a thing changes so, or anything does."""
    yes = rng.random() < 0.5
    if clip.change in ("still", "turns"):
        question = ask(rng, "changes", split)
        answer = "No." if clip.change == "still" else "Yes."
        return {"kind": "exists", "question": question, "answer": answer}
    thing = _thing(clip)
    asked = clip.change if yes else rng.choice([d for d in DOES if d != clip.change])
    question = ask(rng, "whether", split, x=_referent(clip, thing), v=DOES[asked])
    return {"kind": "exists", "question": question, "answer": "Yes." if yes else "No."}


def _referent(clip: Clip, thing: Thing) -> str:
    """What the thing is called in a question, with its colour if it has one."""
    known = [phrase for frame in clip.frames for phrase, t in referents(frame) if t.name == thing.name]
    return noun(thing) if thing.kind == "shape" else (known[0] if known else thing.name)


def clip_questions(clip: Clip, rng: random.Random, split: str) -> list[Question]:
    """What happens (in two wordings), a balanced yes or no, and what fits the change."""
    first, second = (ask(rng, "change", split) for _ in range(2))
    answer = clip_answer(clip)
    out: list[Question] = [{"kind": "change", "question": first, "answer": answer}]
    if second != first:
        out.append({"kind": "change", "question": second, "answer": answer})
    out.append(_whether(clip, rng, split))
    if clip.change in MOVES:
        thing = _thing(clip)
        way = {"left": "to the left", "right": "to the right"}.get(clip.change, clip.change)
        out.append(
            {
                "kind": "change",
                "question": ask(rng, "direction", split, x=noun(thing)),
                "answer": f"The {noun(thing)} moves {way}.",
            }
        )
        out.append(thing_answer("what", ask(rng, "mover", split), thing, the=True))
        last = clip.frames[-1]
        region = last.things[clip.thing].region
        if region:
            question = ask(rng, "ends", split, x=noun(thing))
            out.append({"kind": "where", "question": question, "answer": upper(region) + "."})
    return out


def render_clip(clip: Clip) -> list[Image.Image]:
    return [render(frame) for frame in clip.frames]


def write_video(path: str | Path, images: list[Image.Image]) -> None:
    """H.264 mp4 of the images at `FPS`."""
    with replacing(Path(path)) as temporary, av.open(str(temporary), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = SIZE, SIZE, "yuv420p"
        stream.options = {"crf": "18"}
        for image in images:
            frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
