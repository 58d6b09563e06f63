"""Roll calls: which of several things were told, and in which of two pictures or recordings.

"Which of these are there: a cow, a red circle?" – "A cow no, a red circle yes." To compare what is asked
with what was told is learnt from many answers. A plain yes or no gives one bit, a roll call gives many.
"""

from __future__ import annotations

import random

from data.dialogue.draw import Draw
from data.english import article, upper
from data.scenes.questions import absent
from data.scenes.scene import Scene
from data.scenes.several import phrases
from data.speech.statements import draw_slots, things, told

SHARE = 0.5  # of what is told, by the chance that a roll call is among its questions
ITEMS = (4, 8)  # asked for at once
THERE = ("Which of these are there: {x}?", "Are these there: {x}?", "Look for each: {x}.")
SAID = ("Which of these are mentioned: {x}?", "Are these mentioned: {x}?", "Listen for each: {x}.")
WHERE = ("Where is each of these: {x}?", "In which of the two are these: {x}?", "Find each: {x}.")
SLOTS = {  # of a clause, by what tells them
    "who": "who", "whom": "whom", "job": "job", "place": "where", "event": "event", "when": "when",
    "plain": "noun", "kinds": "colour",
}  # fmt: skip


def of_pictures(scenes: list[Scene], rng: random.Random, objects: str) -> list[list[dict]]:
    """A roll call of one or two pictures, as a group of its own; none in a small world, soon learnt."""
    if objects != "all" or len(scenes) > 2 or rng.random() > SHARE:
        return []
    others = [x for scene in scenes for x in scene_others(scene, rng, objects)]
    return [roll_call([scene_phrases(scene) for scene in scenes], others, THERE, rng)]


def of_statements(records: list[dict], rng: random.Random, split: str) -> list[list[dict]]:
    """A roll call of one or two statements, as a group of its own, or none."""
    if rng.random() > SHARE:
        return []
    draw, text = Draw(rng, split), " ".join(record["text"] for record in records)
    facts = [one for record in records for one in record["facts"]]
    others = [x for one in facts for _ in range(2) for x in clause_others(one, text, draw)]
    said = [set().union(*map(clause_phrases, record["facts"])) for record in records]
    return [roll_call(said, others, SAID, rng)]


def scene_phrases(scene: Scene) -> set[str]:
    """What a picture shows, with its colour and without: "a circle", "a red circle"."""
    return {article(name) for name in phrases(scene)}


def scene_others(scene: Scene, rng: random.Random, objects: str) -> list[str]:
    """What a picture nearly shows; nothing of a lone sign."""
    found = [absent(scene, rng, objects) for _ in range(ITEMS[1])] if scene.objects() else []
    return [article(name) for name in found if name]


def clause_phrases(one: dict) -> set[str]:
    """People, things, places and times of a clause, as it says them."""
    slots = one["slots"]
    left_open = {"kinds"} if not slots.get("colour") else set()
    left_open |= {"plain"} if slots.get("many") and not told(one, "many") else set()
    names = SLOTS.keys() - left_open
    return {slots[name] for name in names if slots.get(name) and told(one, SLOTS[name])}


def clause_others(one: dict, text: str, draw: Draw) -> list[str]:
    """What a clause nearly says: others of its kind, and its things in another number and colour."""
    slots = draw_slots(draw, one["family"])
    found = clause_phrases(one | {"slots": slots})
    if slots.get("noun") and told(one, "noun"):
        again = things(one["slots"]["entry"], slots["many"], slots["colour"])
        found |= clause_phrases(one | {"slots": one["slots"] | again})
    words, left = text.lower(), found - clause_phrases(one)
    return [x for x in sorted(left) if x.lower().removeprefix("a ").removeprefix("an ") not in words]


def roll_call(
    parts: list[set[str]], others: list[str], wordings: tuple[str, ...], rng: random.Random
) -> list[dict]:
    """A question for several phrases, or none.

    Args:
        parts: what each of one or two pictures or recordings has.
        others: what may be asked beside it.
    """
    present = sorted(set().union(*parts))
    absent_ones = sorted(set(others) - set(present))
    count = rng.randint(*ITEMS)
    asked = rng.sample(present, min(len(present), (count + 1) // 2))
    asked += rng.sample(absent_ones, min(len(absent_ones), count - len(asked)))
    if len(asked) < ITEMS[0]:
        return []
    rng.shuffle(asked)
    said = [f"{x} {_verdict([x in part for part in parts])}" for x in asked]
    question = rng.choice(wordings if len(parts) == 1 else WHERE).format(x=", ".join(asked))
    return [{"kind": "roll", "question": question, "answer": upper(", ".join(said)) + "."}]


def _verdict(there: list[bool]) -> str:
    """Yes or no of one; which of two."""
    if len(there) == 1:
        return "yes" if there[0] else "no"
    if all(there):
        return "both"
    return ("first" if there[0] else "second") if any(there) else "neither"
