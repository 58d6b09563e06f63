"""Questions about a scene, with exact answers; some with a rationale, which ends the thinking.

A question is asked only when its answer is beyond doubt in the picture: positions off the
borderlines, relations with a clear gap, names that fit one thing only. Yes and no are drawn
first and as often as each other, then a question is sought that has that answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from data.english import article, count_word, upper
from data.scenes.captions import (
    MIN_GAP,
    caption,
    list_phrase,
    noun,
    scene_groups,
    sight,
)
from data.scenes.objects import SYNONYMS, colors_of, plural, shapes_of
from data.scenes.paraphrases import ask
from data.scenes.sampling import known_kinds, same_category
from data.scenes.scene import Scene, Thing
from data.scenes.scoring import score as score  # a question and its scoring are used together

Question = dict
MOST = 8  # questions kept of a scene
BIGGER = 1.4  # factor in side length before "bigger" is asked


def referents(scene: Scene, with_color: bool = True) -> list[tuple[str, Thing]]:
    """(phrase, thing) for every phrase that fits exactly one thing."""
    out = []
    for thing in scene.objects():
        same_name = sum(t.name == thing.name for t in scene.things)
        if same_name == 1:
            out.append((thing.name, thing))
        elif with_color and thing.kind == "shape" and len(scene.groups()[thing.key]) == 1:
            out.append((f"{thing.color} {thing.name}", thing))
    return out


def _names_of(thing: Thing) -> list[str]:
    return [noun(thing), thing.name, *SYNONYMS.get(thing.name, ())]


def thing_answer(
    kind: str, question: str, thing: Thing, the: bool = False, rationale: str = ""
) -> Question:
    phrase = f"the {noun(thing)}" if the else article(noun(thing))
    return {
        "kind": kind,
        "question": question,
        "answer": upper(phrase) + ".",
        "accept": _names_of(thing),
        "rationale": rationale,
    }


def color_answer(question: str, name: str) -> Question:
    """A question for a colour."""
    return {"kind": "color", "question": question, "answer": upper(name) + "."}


def _yes_no(kind: str, question: str, yes: bool, rationale: str) -> Question:
    answer = "Yes." if yes else "No."
    return {"kind": kind, "question": question, "answer": answer, "rationale": rationale}


def whether_there(question: str, phrase: str, yes: bool) -> Question:
    """A question for something by name; its rationale is "a dog no"."""
    return _yes_no("exists", question, yes, f"{article(phrase)} {'yes' if yes else 'no'}")


def beside(one: str, of_one: str, other: str, of_other: str) -> str:
    """Two things with what is compared of them: "dog D4, circle B2"."""
    return f"{one} {of_one}, {other} {of_other}"


def what(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    if len(scene.things) == 1 and scene.things[0].kind != "sign":
        return thing_answer("what", ask(rng, "what", split), scene.things[0])
    return {
        "kind": "list",
        "question": ask(rng, "list", split),
        "answer": upper(list_phrase(scene)) + ".",
        "things": scene_groups(scene),
    }


def describe(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    return {
        "kind": "caption",
        "question": ask(rng, "caption", split),
        "answer": caption(scene, rng, split),
        "things": scene_groups(scene),
    }


def color(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    options = [("color", p, t.color) for p, t in referents(scene, with_color=False) if t.color]
    for things in scene.groups().values():  # several of one shape, all of one colour
        if (
            len(things) > 1
            and things[0].color
            and len({t.color for t in scene.things if t.name == things[0].name}) == 1
        ):
            options.append(("colors", plural(things[0].name), things[0].color))
    if not options:
        return None
    asked, phrase, answer = rng.choice(options)
    return color_answer(ask(rng, asked, split, x=phrase, xs=phrase), answer)


def background(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    if not scene.background.color:
        return None
    return color_answer(ask(rng, "background", split), scene.background.color)


def countable(scene: Scene) -> list[tuple[str, int]]:
    """(plural, number) of what can be counted by name: groups, and shapes of any colour."""
    out: dict[str, int] = {}
    for group in scene.groups().values():
        if group[0].kind != "sign":
            out[noun(group[0], many=True)] = len(group)
    for name in {t.name for t in scene.objects() if t.kind == "shape"}:
        out[plural(name)] = sum(t.name == name for t in scene.things)
    return sorted(out.items())


def count(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    options = [(p, n) for p, n in countable(scene) if n > 1 or rng.random() < 0.2]
    if not options:
        return None
    phrase, number = rng.choice(options)
    return {
        "kind": "count",
        "question": ask(rng, "count", split, xs=phrase),
        "answer": upper(count_word(number)) + ".",
    }


def count_all(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    if any(t.kind == "sign" for t in scene.things) or (
        len(scene.things) == 1 and rng.random() < 0.7
    ):
        return None
    return {
        "kind": "count",
        "question": ask(rng, "count_all", split),
        "answer": upper(count_word(len(scene.things))) + ".",
    }


def where(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    options = [(p, t.region) for p, t in referents(scene) if t.region]
    options += [("sign", t.region) for t in scene.things if t.kind == "sign" and t.region]
    middle = [o for o in options if o[1] in ("top", "left", "right", "bottom", "middle")]
    if not options:
        return None
    phrase, region = rng.choice(middle or options)  # corners are the commoner: favour the others
    return {
        "kind": "where",
        "question": ask(rng, "where", split, x=phrase),
        "answer": upper(region) + ".",
    }


RELATIONS = {
    "left of": (-1, 0),
    "to the left of": (-1, 0),
    "right of": (1, 0),
    "to the right of": (1, 0),
    "above": (0, -1),
    "below": (0, 1),
    "under": (0, 1),
    "over": (0, -1),
}


def _along(one: Thing, other: Thing, axis: tuple[int, int]) -> float:
    """Pixels that `one` lies further in the direction of `axis` than `other`."""
    return (one.x - other.x) * axis[0] + (one.y - other.y) * axis[1]


def _clearly(one: Thing, other: Thing, axis: tuple[int, int]) -> bool:
    """Far enough along the axis, and not mostly to the side of it."""
    along, aside = _along(one, other, axis), _along(one, other, (axis[1], axis[0]))
    return along >= MIN_GAP and abs(aside) <= 1.2 * along


def relation(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    named = referents(scene)
    if len(named) < 2:
        return None
    yes = rng.random() < 0.5
    for _ in range(12):
        (x, one), (y, other) = rng.sample(named, 2)
        words, axis = rng.choice(list(RELATIONS.items()))
        if _clearly(one, other, axis) if yes else _along(one, other, axis) <= -MIN_GAP:
            rationale = beside(x, sight(one).address, y, sight(other).address)
            return _yes_no("relation", ask(rng, "relation", split, x=x, y=y, r=words), yes, rationale)
    return None


def relation_what(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    named = referents(scene)
    rng.shuffle(named)
    for y, other in named:
        for words, axis in rng.sample(list(RELATIONS.items()), len(RELATIONS)):
            rest = [t for t in scene.things if t is not other]
            there = [t for t in rest if _along(t, other, axis) > -8]  # pixels: all but clearly not
            if len(there) == 1 and _clearly(there[0], other, axis) and there[0].kind != "sign":
                found = sight(there[0])
                rationale = beside(y, sight(other).address, found.one, found.address)
                question = ask(rng, "relation_what", split, y=y, r=words)
                return thing_answer("relation", question, there[0], rationale=rationale)
    return None


GENERAL = {  # what has one of these has that, too
    "flower": {"rose", "tulip", "sunflower"}, "tree": {"pine tree", "palm tree"}, "car": {"taxi"},
    "ship": {"sailboat", "speedboat"}, "hat": {"cap"}, "bear": {"panda", "teddy bear", "koala"},
    "fish": {"shark"}, "shoe": {"high heel", "boot"}, "telephone": {"mobile phone"},
}  # fmt: skip


SIGNLESS = 0.12  # of what is asked for and absent is a sign: else one asked for would always be there


def names_in(scene: Scene) -> set[str]:
    """What is there, by name: where a rose is, a flower is."""
    present = {t.name for t in scene.things}
    return present | {general for general, kinds in GENERAL.items() if present & kinds}


def absent(scene: Scene, rng: random.Random, objects: str) -> str | None:
    """Something that is not there but nearly: same shape, same colour, same category, or a sign."""
    present = names_in(scene)
    if objects == "all" and "sign" not in present and rng.random() < SIGNLESS:
        return "sign"
    pairs = {(t.name, t.color) for t in scene.things}
    near = rng.choice(scene.objects())
    if near.kind == "shape" and near.color and rng.random() < 0.7:
        if rng.random() < 0.5:
            phrase = (near.name, rng.choice(colors_of(objects)))
        else:
            phrase = (rng.choice(shapes_of(objects)), near.color)
        return None if phrase in pairs else f"{phrase[1]} {phrase[0]}"
    names = known_kinds(objects)
    if near.kind == "emoji" and rng.random() < 0.6:
        names = same_category(near.name)
    name = rng.choice(names)
    return None if name in present else name


def exists(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    if not scene.objects():  # a lone sign could only ever be answered no
        return None
    yes = rng.random() < 0.5
    for _ in range(8):
        if yes:
            thing = rng.choice(scene.objects())
            phrase = noun(thing) if rng.random() < 0.7 else thing.name
        else:
            phrase = absent(scene, rng, objects)
        if phrase:
            return whether_there(ask(rng, "exists", split, ax=article(phrase)), phrase, yes)
    return None


def compare(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    named = referents(scene)
    rng.shuffle(named)
    for i, (x, one) in enumerate(named):
        for y, other in named[i + 1 :]:
            ratio = one.side / other.side
            if max(ratio, 1 / ratio) >= BIGGER:
                kind = rng.choice(("compare", "smaller"))
                bigger = one if ratio > 1 else other
                right = bigger if kind == "compare" else (other if bigger is one else one)
                question = ask(rng, kind, split, x=x, y=y)
                rationale = beside(x, one.size, y, other.size)
                return thing_answer("compare", question, right, the=True, rationale=rationale)
    return None


def more(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    groups = [g for g in scene.groups().values() if g[0].kind != "sign"]
    if len(groups) < 2 or max(map(len, groups)) == 1:
        return None
    yes = rng.random() < 0.5
    for _ in range(8):
        one, other = rng.sample(groups, 2)
        if len(one) != len(other) and (len(one) > len(other)) == yes:
            xs, ys = (noun(group[0], many=True) for group in (one, other))
            rationale = beside(xs, count_word(len(one)), ys, count_word(len(other)))
            return _yes_no("compare", ask(rng, "more", split, xs=xs, ys=ys), yes, rationale)
    return None


def read(scene: Scene, rng: random.Random, split: str, objects: str) -> Question | None:
    for thing in scene.things:
        if thing.kind == "sign":
            return {
                "kind": "read",
                "question": ask(rng, "read", split),
                "answer": upper(thing.text.lower()) + ".",
            }
    return None


Builder = Callable[[Scene, random.Random, str, str], Question | None]
BUILDERS: tuple[tuple[Builder, int], ...] = (  # with how often each is tried
    (what, 1),
    (describe, 1),
    (color, 1),
    (background, 1),
    (count, 1),
    (count_all, 1),
    (where, 2),
    (relation, 2),
    (relation_what, 1),
    (exists, 2),
    (compare, 1),
    (more, 1),
    (read, 2),
)


def _same(one: Question, other: Question) -> bool:
    return one["question"] == other["question"] or (
        one["kind"] == other["kind"] == "where" and one["answer"] == other["answer"]
    )


def questions(scene: Scene, rng: random.Random, split: str, objects: str = "all") -> list[Question]:
    """Up to `MOST` questions, of as many kinds as the scene allows, no two asked alike."""
    builders = [build for build, times in BUILDERS for _ in range(times)]
    rng.shuffle(builders)
    # What only some pictures can be asked comes first: it is the scarcer.
    builders.sort(key=lambda b: b not in (read, compare, relation_what, more, where))
    out: list[Question] = []
    for build in builders:
        question = build(scene, rng, split, objects)
        if question and not any(_same(question, q) for q in out):
            out.append(question)
        if len(out) == MOST:
            break
    return out
