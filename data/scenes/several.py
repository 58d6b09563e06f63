"""Several pictures in one request: which of them has something, and what differs between two."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from data.english import article, count_word, joined, upper
from data.scenes.captions import noun, track_sights
from data.scenes.clips import sample_clip
from data.scenes.paraphrases import ask
from data.scenes.questions import Question, absent, beside, names_in, questions
from data.scenes.sampling import sample_scene
from data.scenes.scene import Scene, Thing
from data.scenes.sights import track_thinking
from data.scenes.styles import dress

ORDINALS = ("first", "second", "third")
DIFFERING = 0.4  # of the sets are two states of one scene
THREE = 0.12  # of the others have three pictures
MOVED = {"left": "further to the left", "right": "further to the right", "up": "higher", "down": "lower"}
MOST = 6  # questions kept of a set
# Words of questions that cannot go on with "in the first picture".
WHOLE = {"picture", "image", "here", "photo", "scene", "it", "drawing", "this", "view"}
ABOUT_ONE = ("color", "count", "where", "exists", "relation", "read")  # kinds asked of one of the pictures


@dataclass
class Several:
    """The scenes in the order in which they are shown.

    Args:
        difference: what differs between two states of a scene; "" where that cannot be asked.
        tracks: each thing of these in both, as of a clip.
    """

    scenes: list[Scene]
    difference: str = ""
    tracks: str = ""

    @classmethod
    def from_dict(cls, data: dict) -> Several:
        scenes = [Scene.from_dict(scene) for scene in data["scenes"]]
        return cls(scenes, data["difference"], data["tracks"])


def sample_several(
    rng: random.Random, split: str, objects: str = "all", styles: tuple[str, ...] = ()
) -> Several:
    """Two or three scenes, or one scene before and after a change."""
    if rng.random() < DIFFERING:
        clip = sample_clip(rng, split, objects, frames=2, styles=styles)
        while not all(frame.things for frame in clip.frames):  # nothing is asked of an empty picture
            clip = sample_clip(rng, split, objects, frames=2, styles=styles)
        told = difference(clip.change, clip.tracks(), clip.thing)
        return Several(clip.frames, told, track_thinking(track_sights(clip.tracks())))
    count = 3 if rng.random() < THREE else 2
    layouts = [rng.choice(("single", "single", "several", "count", "sign")) for _ in range(count)]
    scenes = [sample_scene(rng, split, objects, layout) for layout in layouts]
    return Several([dress(scene, rng, styles) if styles else scene for scene in scenes])


def difference(change: str, tracks: list[list[Thing | None]], index: int) -> str:
    """ "The dog is missing in the second picture." """
    if change == "still":
        return "Nothing is different."
    before, after = tracks[index]
    if after is None:
        return f"The {noun(before)} is missing in the second picture."
    if before is None:
        return f"The second picture also has {article(noun(after))}."
    if change == "turns":
        return f"The {before.name} is {before.color} in the first picture and {after.color} in the second."
    how = MOVED.get(change, "bigger" if change == "grows" else "smaller")
    return f"The {noun(before)} is {how} in the second picture."


def which_answer(right: list[int], count: int) -> str:
    """ "The first.", "Both.", "Neither.", "The first and the third." """
    if not right:
        return "Neither." if count == 2 else "None of them."
    if len(right) == count:
        return "Both." if count == 2 else "All of them."
    return upper(joined([f"the {ORDINALS[i]}" for i in right])) + "."


def which(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """Which picture has something."""
    scenes = pictures.scenes
    things = [thing for scene in scenes for thing in scene.objects()]
    if not things:
        return None
    thing = rng.choice(things)
    phrase = noun(thing) if rng.random() < 0.6 else thing.name
    if rng.random() < 0.12:
        phrase = absent(next(s for s in scenes if s.objects()), rng, objects) or phrase
    right = [i for i, scene in enumerate(scenes) if phrase in phrases(scene)]
    answer = which_answer(right, len(scenes))
    question = ask(rng, "which_picture", split, ax=article(phrase))
    while len(scenes) > 2 and "or in the second" in question:
        question = ask(rng, "which_picture", split, ax=article(phrase))
    rationale = f"{article(phrase)} {answer[:-1].lower()}"
    return {"kind": "which", "question": question, "answer": answer, "rationale": rationale}


def phrases(scene: Scene) -> set[str]:
    """Everything that a scene has, with its colour and without."""
    return names_in(scene) | {noun(thing) for thing in scene.objects()}


def which_more(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """Which of two has more in it."""
    counts = [len(scene.things) for scene in pictures.scenes]
    if len(counts) != 2 or counts[0] == counts[1]:
        return None
    right = int(counts[1] > counts[0])
    question = ask(rng, "more_pictures", split)
    rationale = beside("first", count_word(counts[0]), "second", count_word(counts[1]))
    answer = which_answer([right], 2)
    return {"kind": "which", "question": question, "answer": answer, "rationale": rationale}


def in_both(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """Yes or no, as often where that can be: whether all of two have something."""
    if len(pictures.scenes) != 2:
        return None
    one, other = (phrases(scene) for scene in pictures.scenes)
    yes = rng.random() < 0.5
    options = sorted(one & other if yes else one ^ other)
    if not options or not (yes or one & other or rng.random() < 0.65):  # as often no as yes
        return None
    phrase = rng.choice(options)
    where = "both" if yes else "the first" if phrase in one else "the second"
    return {
        "kind": "exists",
        "question": ask(rng, "both_pictures", split, ax=article(phrase)),
        "answer": "Yes." if yes else "No.",
        "rationale": f"{article(phrase)} {where}",
    }


def what_differs(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """What is different, of two states of a scene."""
    if not pictures.difference:
        return None
    question = ask(rng, "difference", split)
    answer, rationale = pictures.difference, pictures.tracks
    return {"kind": "difference", "question": question, "answer": answer, "rationale": rationale}


def same(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """Whether two pictures are the same."""
    if len(pictures.scenes) != 2:
        return None
    equal = pictures.difference == "Nothing is different."
    if not equal and rng.random() < 0.95:  # as often no as yes
        return None
    return {
        "kind": "exists",
        "question": ask(rng, "same_pictures", split),
        "answer": "Yes." if equal else "No.",
        "rationale": pictures.tracks or "others",
    }


def about_one(pictures: Several, rng: random.Random, split: str, objects: str) -> Question | None:
    """A question about one of the pictures."""
    i = rng.randrange(len(pictures.scenes))
    asked = [
        q
        for q in questions(pictures.scenes[i], rng, split, objects)
        if q["kind"] in ABOUT_ONE and q["question"].endswith("?")
        and not set(re.findall(r"[a-z]+", q["question"].lower())) & WHOLE
        and not re.search(r"[,.]", q["question"])  # one sentence, to which the place is added
    ]
    if not asked:
        return None
    chosen = rng.choice(asked)
    where = rng.choice(("in the {} picture", "in the {} image")).format(ORDINALS[i])
    return chosen | {"question": f"{chosen['question'][:-1]} {where}?"}


Builder = Callable[[Several, random.Random, str, str], Question | None]
BUILDERS: tuple[Builder, ...] = (
    what_differs, what_differs, which, which, which_more, in_both, same, about_one, about_one,
)


def several_questions(
    pictures: Several, rng: random.Random, split: str, objects: str = "all"
) -> list[Question]:
    """Up to `MOST` questions, no two asked alike."""
    out: list[Question] = []
    for build in rng.sample(BUILDERS, len(BUILDERS)):
        question = build(pictures, rng, split, objects)
        if question and question["question"] not in [q["question"] for q in out]:
            out.append(question)
    return out[:MOST]
