"""What is answered is true of the scene, told by rules of the test's own."""

import random
import re
from collections import Counter
from functools import cache

import pytest

from data.scenes.clips import clip_questions, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.objects import plural
from data.scenes.paraphrases import ASK, FURTHER
from data.scenes.questions import GENERAL, questions
from data.scenes.sampling import sample_scene
from data.scenes.scoring import pictures_named
from data.scenes.several import sample_several, several_questions

WORDS, WAYS = r"[\w '-]+?", "(?:to the )?(?:left|right) of|above|below|under|over"
NUMBERS = "zero one two three four five six seven eight nine ten".split()


@cache
def patterns(kind):
    out = []
    for template in dict.fromkeys((*ASK[kind][0], *ASK[kind][1], *FURTHER.get(kind, ()))):
        parts = re.split(r"{(\w+)}", template.replace("colour", "color"))
        gaps = [
            f"(?P={n})" if n in parts[1 : 2 * i : 2] else f"(?P<{n}>{WAYS if n == 'r' else WORDS})"
            for i, n in enumerate(parts[1::2])
        ]
        out.append(re.compile("".join(re.escape(a) + b for a, b in zip(parts[::2], [*gaps, ""]))))
    return out


def filled(text, *kinds):
    """Of which kind of wording a question is, and what fills its gaps."""
    text = text.replace("colour", "color")
    found = [
        (kind, m.groupdict()) for kind in kinds for p in patterns(kind) if (m := p.fullmatch(text))
    ]
    return min(found, key=lambda one: sum(map(len, one[1].values())), default=(None, {}))


def called(scene, phrase):
    """The things that a phrase names, in the singular or the plural."""
    return [
        t
        for t in scene.things
        if phrase
        in (
            t.name,
            *(g for g, kinds in GENERAL.items() if t.name in kinds),
            f"{t.color} {t.name}",
            plural(t.name),
            f"{t.color} {plural(t.name)}",
        )
    ]


def lies(r, one, other):
    return {
        "left": one.x < other.x,
        "right": one.x > other.x,
        "above": one.y < other.y,
        "over": one.y < other.y,
        "below": one.y > other.y,
        "under": one.y > other.y,
    }[r.removeprefix("to the ").split()[0]]


def true(scene, q):
    """Whether the answer is true; None where this test has no rule."""
    said = q["answer"].rstrip(".").lower()
    if q["kind"] == "count":
        kind, gaps = filled(q["question"], "count_all", "count")
        if kind == "count_all":
            return said == NUMBERS[len(scene.things)]
        return said == NUMBERS[len(called(scene, gaps["xs"]))] if kind else None
    if q["kind"] == "color":
        kind, gaps = filled(q["question"], "background", "color", "colors")
        if kind == "background":
            return said == scene.background.color
        return (
            {t.color for t in called(scene, gaps.get("x") or gaps["xs"])} == {said}
            if kind
            else None
        )
    if q["kind"] == "exists":
        _, gaps = filled(q["question"], "exists")
        phrase = re.sub("^an? ", "", gaps["ax"])
        return (said == "yes") == bool(called(scene, phrase))
    if q["kind"] == "relation" and said in ("yes", "no"):
        _, gaps = filled(q["question"], "relation")
        (one,), (other,) = called(scene, gaps["x"]), called(scene, gaps["y"])
        return lies(gaps["r"], one, other) == (said == "yes")
    if q["kind"] == "compare" and said in ("yes", "no"):
        _, gaps = filled(q["question"], "more")
        return (len(called(scene, gaps["xs"])) > len(called(scene, gaps["ys"]))) == (said == "yes")
    return None


@pytest.mark.parametrize("split", ["train", "test"])
def test_answers_are_true(split):
    checked = Counter()
    for i in range(150):
        rng = random.Random(f"truth-{split}-{i}")
        scene = sample_scene(rng, split)
        for q in questions(scene, rng, split):
            found = true(scene, q)
            assert found is not False, (q, scene.things)
            checked[q["kind"]] += found is not None
    assert min(checked[k] for k in ("count", "color", "exists", "relation", "compare")) > 15, (
        checked
    )


CHANGED = {  # from the first state of a thing to its last
    "left": lambda first, last: last.x < first.x - 40,
    "right": lambda first, last: last.x > first.x + 40,
    "up": lambda first, last: last.y < first.y - 40,
    "down": lambda first, last: last.y > first.y + 40,
    "grows": lambda first, last: last.side > 1.5 * first.side,
    "shrinks": lambda first, last: last.side < first.side / 1.5,
}


def test_what_clips_answer_is_what_their_frames_show():
    seen = Counter()
    for i in range(300):
        clip = sample_clip(random.Random(i), "train", "shapes")
        if clip.thing >= 0:
            track = [thing for thing in clip.tracks()[clip.thing] if thing]
            assert clip.change not in CHANGED or CHANGED[clip.change](track[0], track[-1]), clip.change
        for q in clip_questions(clip, random.Random(i), "train"):
            kind, gaps = filled(q["question"], "whether", "changes", "ends")
            if kind == "changes":
                assert (q["answer"] == "No.") == (clip.change == "still")
            if kind == "whether":
                same = gaps["v"].split()[-1].rstrip("s") == clip.change.rstrip("s")
                assert same == (q["answer"] == "Yes."), (q, clip.change)
            if q["kind"] == "where":
                assert q["answer"][:-1].lower() == clip.frames[-1].things[clip.thing].region
            seen[kind] += 1
    assert min(seen[k] for k in ("whether", "changes", "ends")) > 15


def shown(q, scene):
    """Whether what a question asks for ("a dog") is in the scene."""
    return bool(called(scene, re.sub("^an? ", "", q)))


def test_answers_about_several_pictures_are_true():
    seen = Counter()
    for i in range(250):
        rng = random.Random(i)
        pictures = sample_several(rng, "train")
        scenes = pictures.scenes
        for q in several_questions(pictures, rng, "train"):
            kind, gaps = filled(
                q["question"], "which_picture", "more_pictures", "both_pictures", "same_pictures"
            )
            seen[kind] += 1
            has = [shown(gaps["ax"], scene) for scene in scenes] if "ax" in gaps else []
            if kind == "which_picture":
                right = {n for n, there in enumerate(has, 1) if there} or {0}
                assert pictures_named(q["answer"]) == right, (q, has)
            elif kind == "more_pictures":
                assert pictures_named(q["answer"]) == {
                    1 + (len(scenes[1].things) > len(scenes[0].things))
                }
            elif kind == "both_pictures":
                assert (q["answer"] == "Yes.") == all(has), q
            elif kind == "same_pictures":
                assert (q["answer"] == "Yes.") == (scenes[0].things == scenes[1].things)
            elif place := re.search(
                r"in the (first|second|third) (picture|image)\?$", q["question"]
            ):
                plain = q | {"question": q["question"][: place.start() - 1] + "?"}
                found = true(scenes["first second third".split().index(place[1])], plain)
                assert found is not False, q
                seen["one"] += found is not None
            elif (
                q["kind"] == "difference"
                and q["answer"].startswith("The ")
                and " is " in q["answer"]
            ):
                seen["difference"] += 1
                size = [sum(t.side for t in scene.things) for scene in scenes]
                said = q["answer"]
                assert not (
                    ("bigger" in said and size[1] <= size[0])
                    or ("smaller" in said and size[1] >= size[0])
                )
                count = [len(scene.things) for scene in scenes]
                assert ("missing" in said) == (count[1] < count[0])
    assert (
        min(
            seen[k]
            for k in (
                "which_picture",
                "more_pictures",
                "both_pictures",
                "same_pictures",
                "one",
                "difference",
            )
        )
        > 5
    ), seen


def test_second_questions_are_true_too():
    seen = Counter()
    for i in range(400):
        rng = random.Random(i)
        scene = sample_scene(rng, "train")
        for first, second in follow_ups(scene, rng):
            asked, said = second["question"].rstrip("?."), second["answer"].rstrip(".").lower()
            phrase = re.sub(
                r"^(And is there|And how many|And what about|What about|And) (the |an? )?",
                "",
                asked,
            )
            found = called(scene, phrase)
            if counted := re.match("How many (.+?) (are there|do you see)", first["question"]):
                assert (
                    first["answer"].rstrip(".").lower() == NUMBERS[len(called(scene, counted[1]))]
                ), first
            if second["kind"] == "exists":
                assert bool(found) == (said == "yes"), second
            elif second["kind"] == "count" and found:
                assert said == NUMBERS[len(found)], second
            elif second["kind"] == "count":
                assert said == NUMBERS[len(scene.things)], second
            elif second["kind"] in ("where", "color") and len(found) == 1:
                assert said == (found[0].region if second["kind"] == "where" else found[0].color), (
                    second
                )
            elif re.search("next to|other thing|else", asked):
                first_thing = next(
                    t
                    for t in scene.things
                    if t.name in first["answer"].lower()
                    and (t.kind != "shape" or t.color in first["answer"].lower())
                )
                (rest,) = [t for t in scene.things if t is not first_thing]
                assert said == rest.color or said.endswith(rest.name), (first, second)
            else:
                continue
            seen[second["kind"]] += 1
    assert min(seen[k] for k in ("exists", "count", "where", "color")) > 5, seen
