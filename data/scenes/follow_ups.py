"""Two-turn dialogues about a scene whose second question means nothing without the first turn."""

from __future__ import annotations

import random
from functools import partial

from data.english import article, count_word, upper
from data.scenes.captions import MIN_GAP, noun
from data.scenes.questions import (
    Question,
    absent,
    countable,
    referents,
    thing_answer,
    whether_there,
)
from data.scenes.scene import Scene, Thing

Dialogue = list[Question]
MOST = 2  # dialogues kept of a scene
SIDES = (("on the left", (-1, 0)), ("on the right", (1, 0)),
         ("at the top", (0, -1)), ("at the bottom", (0, 1)))
ITS_COLOR = ("What color is it?", "And what color is it?", "And what colour is it?", "Which color is it?",
             "What is its color?", "What colour does it have?")
ITS_PLACE = ("Where is it?", "And where is it?", "In which part of the picture is it?",
             "Where do you see it?")
SEEN = ("Is there {}?", "Do you see {}?", "Can you see {}?")
HOW_MANY = ("How many are there?", "And how many are there?", "How many of them are there?")
WRITTEN = ("What does it say?", "And what does it say?", "What is written on it?")
COLOR_BESIDE = ("And what color is the thing next to it?", "What colour is the other thing?")
WHAT_BESIDE = ("And what is next to it?", "What else is there?", "And what is the other thing?")
SAME = (
    ("where", "Where is the {}?", lambda t: t.region),
    ("color", "What color is the {}?", lambda t: t.color),
    ("color", "What colour is the {}?", lambda t: t.color),
)


def _answer(kind: str, question: str, answer: str) -> Question:
    return {"kind": kind, "question": question, "answer": upper(answer) + "."}


def _about_it(rng: random.Random, thing: Thing) -> Question | None:
    """A question about "it": its colour or its place."""
    options = []
    if thing.color:
        options.append(_answer("color", rng.choice(ITS_COLOR), thing.color))
    if thing.region:
        options.append(_answer("where", rng.choice(ITS_PLACE), thing.region))
    return rng.choice(options) if options else None


def stands(thing: Thing, side: str) -> bool:
    """Whether where it is agrees that it is on that side: being further left than others is less."""
    return side in (thing.region or "")


def named_then_it(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "What is on the left?" "A dog." "And what color is it?" """
    side, axis = rng.choice(SIDES)
    if len(scene.things) == 1:
        first = rng.choice(("What is this?", "What do you see?", "What is in the picture?"))
        thing = scene.things[0]
    else:
        ranked = sorted(scene.things, key=lambda t: t.x * axis[0] + t.y * axis[1])
        thing, second = ranked[-1], ranked[-2]
        if (thing.x - second.x) * axis[0] + (thing.y - second.y) * axis[1] < MIN_GAP:
            return None
        first = rng.choice((f"What is {side}?", f"What do you see {side}?", f"Which thing is {side}?"))
        if not stands(thing, side.split()[-1]):
            return None
    if thing.kind == "sign":
        return None
    follow = _about_it(rng, thing)
    return follow and [thing_answer("what", first, thing), follow]


def exists_then_it(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "Is there a dog?" "Yes." "Where is it?" """
    named = referents(scene)
    if not named:
        return None
    phrase, thing = rng.choice(named)
    follow = _about_it(rng, thing)
    if follow and follow["kind"] == "color" and phrase != thing.name:  # the phrase says it
        return None
    first = rng.choice(SEEN).format(article(phrase))
    return follow and [whether_there(first, phrase, True), follow]


def exists_another(scene: Scene, rng: random.Random, objects: str) -> Dialogue | None:
    """ "Is there a cat?" "No." "And a dog?" "Yes." — mostly no first, to weigh up the others."""
    if not scene.objects():
        return None
    missing = absent(scene, rng, objects)
    also_missing = absent(scene, rng, objects)
    first = rng.choice(SEEN)
    then = rng.choice(("And {}?", "What about {}?", "And is there {}?"))
    if not missing or missing == also_missing:
        return None
    yes = rng.random() < 0.5
    second = noun(rng.choice(scene.objects())) if yes else also_missing
    return second and [
        whether_there(first.format(article(missing)), missing, False),
        whether_there(then.format(article(second)), second, yes),
    ]


def same_of_another(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "Where is the dog?" "Left." "And the star?" — or the same with colours."""
    for kind, question, value in rng.sample(SAME, 3):
        named = referents(scene, with_color=kind != "color")
        known = [(p, value(t)) for p, t in named if value(t)]
        if len(known) >= 2:
            (x, first), (y, second) = rng.sample(known, 2)
            again = rng.choice(("And the {}?", "What about the {}?", "And what about the {}?"))
            return [_answer(kind, question.format(x), first), _answer(kind, again.format(y), second)]
    return None


def counts(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "What do you see?"-like naming, then "How many are there?"; or counts of two groups."""
    groups = [g for g in scene.groups().values() if g[0].kind != "sign"]
    many = countable(scene)
    if len(scene.groups()) == 1 and groups and len(groups[0]) > 1:
        names = noun(groups[0][0], many=True)
        asked = rng.choice(("What things are these?", "What are these?"))
        first = _answer("what", asked, names) | {"accept": [names]}
        return [first, _answer("count", rng.choice(HOW_MANY), count_word(len(groups[0])))]
    if len(groups) >= 2 and max(n for _, n in many) > 1:
        one, other = rng.sample(groups, 2)
        question = rng.choice(("How many {} are there?", "How many {} do you see?"))
        again = rng.choice(("And how many {}?", "And {}?", "What about {}?"))
        return [
            _answer("count", question.format(noun(one[0], True)), count_word(len(one))),
            _answer("count", again.format(noun(other[0], True)), count_word(len(other))),
        ]
    return None


def beside_sign(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "Is there a sign?" "Yes." "What does it say?" """
    for thing in scene.things:
        if thing.kind == "sign":
            first = whether_there(rng.choice(SEEN).format("a sign"), "sign", True)
            return [first, _answer("read", rng.choice(WRITTEN), thing.text.lower())]
    return None


def next_to_it(scene: Scene, rng: random.Random) -> Dialogue | None:
    """ "What is on the left?" "A dog." "And what is next to it?" — in scenes of two things."""
    if len(scene.things) != 2 or any(t.kind == "sign" for t in scene.things):
        return None
    one, other = sorted(scene.things, key=lambda t: t.x)
    if other.x - one.x < MIN_GAP or one.key == other.key:
        return None
    if rng.random() < 0.5:
        question, side, thing, rest = "What is on the left?", "left", one, other
    else:
        question, side, thing, rest = "What is on the right?", "right", other, one
    if not stands(thing, side):
        return None
    if rest.color and rng.random() < 0.5:
        follow = _answer("color", rng.choice(COLOR_BESIDE), rest.color)
    else:
        follow = thing_answer("what", rng.choice(WHAT_BESIDE), rest)
    return [thing_answer("what", question, thing), follow]


def follow_ups(scene: Scene, rng: random.Random, objects: str = "all") -> list[Dialogue]:
    """Up to `MOST` dialogues; each is two questions as `questions` makes them."""
    builders = [named_then_it, exists_then_it, same_of_another, counts, beside_sign, next_to_it]
    builders.append(partial(exists_another, objects=objects))
    rng.shuffle(builders)
    made = [dialogue for build in builders if (dialogue := build(scene, rng))]
    return made[:MOST]
