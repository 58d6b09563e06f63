"""Typed questions about statements, with exact answers: who, what, how many, where, when, yes or no.

What the statement does not tell is answered by `NOT_SAID`. Dev and test have wordings of their own. The
rationale of a check is a verdict on each of its parts.
"""

from __future__ import annotations

import random
import re

from data.dialogue.conversation import casual, score_turn
from data.dialogue.draw import Draw
from data.speech.statements import TELLS, draw_slots, fields, person, sentence, tables, things

NOT_SAID = "That was not said."
# Slots that may be asked with although they are not said: the verb's forms, "the dogs".
GIVEN = {"has", "do", "have", "the", "one", "are", "they", "place", "noun"}
PEOPLE = ("who", "whom")
VERBS = {"has", "do", "have", "are", "they"}  # of the slots


def _told(template: str, one: dict) -> bool:
    """Whether a template names nothing that the clause does not say."""
    slots = one["slots"]
    named = fields(template)
    parts = {part for name in named for part in (name, *TELLS.get(name, ())) if slots.get(part) != ""}
    return all(name in slots for name in named) and parts <= GIVEN | set(TELLS) | set(one["used"])


def _sayable(templates: list[str], one: dict) -> list[str]:
    """Those that name nothing that the clause does not say."""
    return [template for template in templates if _told(template, one)]


def named(template: str) -> list[str]:
    """The slots of a template that are no verbs."""
    return [name for name in fields(template) if name not in VERBS]


def verdicts(parts: list[tuple[str, bool]]) -> str:
    """"Max yes, two dogs no": a rationale."""
    said = ((" ".join(part.split()), "yes" if right else "no") for part, right in parts)
    return ", ".join(map(" ".join, said))


def worded(
    draw: Draw, kind: dict, one: dict, frames: dict[str, list[str]] | None = None
) -> tuple[str, list[str]]:
    """A question of one kind about a clause, in a wording of the split, and the slots that it names.

    The question is "" if there is none. Outside train either the question is worded as never in train,
    or what stands around it.
    """
    every = tables()["frames"]
    way = "tell" if frames is None and draw.chance() < 0.25 else "ask"
    frame = draw.pick((frames or every[way])[draw.split])
    if frames is None and draw.split != "train" and draw.chance() < 0.5:
        way, frame = draw.split, "{}?"
    templates = _sayable(kind[way], one)
    if not templates:
        return "", []
    template = draw.pick(templates)
    core = template.format(**one["slots"])
    return sentence(frame.format(core, q=core)), named(template)


def asked(draw: Draw, name: str, one: dict, frames: dict[str, list[str]] | None = None) -> dict | None:
    """A question about what is said, with its answer."""
    kind = tables()["families"][one["family"]]["kinds"][name]
    question, slots = worded(draw, kind, one, frames)
    if not question or not _told(kind["answer"], one):
        return None
    said = (template.format(**one["slots"]) for template in _sayable([kind["answer"], *kind["accept"]], one))
    right = list(dict.fromkeys(sentence(text + ".") for text in said))
    parts = [(one["slots"][slot], True) for slot in slots]
    return {"kind": name, "question": question, "answer": right[0], "accept": right[1:],
            "rationale": verdicts([*parts, (name, True)])}


def answerable(one: dict) -> list[str]:
    """The kinds of questions that a clause answers."""
    same = {"what": {"noun", "kinds", "event"}, "weather": {"where"}}
    kinds = tables()["families"][one["family"]]["kinds"]
    return [kind for kind in kinds if same.get(kind, {kind}) & set(one["used"])]


def unsaid(draw: Draw, one: dict, text: str) -> dict | None:
    """A question that the statement leaves open: about somebody else, or about what is not told."""
    kinds = tables()["families"][one["family"]]["kinds"]
    absent = [k for k in ("where", "when", "whom", "how", "colour", "many")
              if k in kinds and k not in one["used"]
              and (one["slots"].get(k) == "" if k == "colour" else one["slots"].get(k))]
    true = one["slots"]
    if "who" in one["used"] and (not absent or draw.chance() < 0.5):
        who = person(draw)
        one = one | {"slots": true | {"who": who}}
        absent = [kind for kind in answerable(one) if kind not in ("who", "many", "colour")]
        if who.lower() in text.lower():
            return None
        absent = [kind for kind in absent if "{who}" in " ".join(kinds[kind]["ask"])]
    kind = draw.pick(absent) if absent else ""
    question, slots = worded(draw, kinds[kind], one) if kind else ("", [])
    if not question:
        return None
    parts = [(one["slots"][slot], one["slots"][slot] == true[slot]) for slot in slots]
    return {"kind": "unsaid", "question": question, "answer": NOT_SAID, "accept": [],
            "rationale": verdicts([*parts, (kind, False)])}


def _changed(draw: Draw, one: dict, template: str) -> dict:
    """The slots with one thing that the template names changed."""
    slots, named = one["slots"], set(fields(template))
    choices = [name for name in (*PEOPLE, "where", "when", "event", "price", "age", "job") if name in named]
    if named & {"what", "plain", "the", "thedef", "one", "kinds"}:
        choices.append("entry")
    counted = named & {"what", "thedef", "plain"}
    choices += [name for name in ("many", "colour") if counted and slots.get(name)]
    change = draw.pick(choices)
    while True:
        other = draw_slots(draw, one["family"])
        if other["has"] != slots["has"] and change not in ("many", "colour", *PEOPLE):
            continue
        if change in ("entry", "many", "colour"):
            parts = {name: slots[name] for name in ("entry", "many", "colour")}
            parts[change] = other[change] or parts[change]
            return slots | things(parts["entry"], parts["many"], parts["colour"])
        return slots | {change: other[change]}


def check(draw: Draw, one: dict) -> dict | None:
    """A question to be answered by yes or no, each as often."""
    template = draw.pick(_sayable(tables()["families"][one["family"]]["checks"], one) or [""])
    if not template:
        return None
    right, slots = draw.chance() < 0.5, one["slots"]
    said = template.replace("{have}", "{has}")
    truth = claim = said.format(**slots)
    while not right and claim == truth:
        slots = _changed(draw, one, template)
        claim = said.format(**slots)
    frame = draw.pick(tables()["frames"]["check"][draw.split])
    question = frame.format(do=slots["do"], clause=template.format(**slots), claim=claim)
    answer = f"Yes, {truth}." if right else f"No, {truth}."
    parts = [(slots[name], slots[name] == one["slots"][name]) for name in named(template)]
    return {"kind": "check", "question": sentence(question), "answer": sentence(answer),
            "accept": ["Yes." if right else "No."], "rationale": verdicts(parts)}


def about(draw: Draw, facts: list[dict]) -> dict:
    """What the statement is about."""
    parts = [tables()["families"][one["family"]]["about"].format(**one["slots"]) for one in facts]
    return {"kind": "about", "question": draw.pick(tables()["frames"]["about"][draw.split]),
            "answer": sentence(f"It is about {', and about '.join(parts)}."),
            "accept": [sentence(f"{part}.") for part in parts]}


def questions(record: dict, draw: Draw) -> list[dict]:
    """Three to six questions about a statement, in new wordings at every call."""
    facts = record["facts"]
    found = [asked(draw, kind, one) for one in facts for kind in answerable(one)]
    draw.rng.shuffle(found)
    found = found[: draw.number(3, 5)]
    found += [check(draw, draw.pick(facts)) for _ in range(max(1, 3 - len(found)))]
    if draw.chance() < 0.4:
        found.append(unsaid(draw, draw.pick(facts), record["text"]))
    if draw.chance() < 0.2:
        found.append(about(draw, facts))
    distinct = {q["question"]: q for q in found if q}
    found = list(distinct.values())
    draw.rng.shuffle(found)
    return found[:6] if len(found) >= 3 else questions(record, draw)


def typed_question(record: dict, rng: random.Random, split: str) -> dict:
    """One question about a statement as people type it, in a new wording at every call."""
    draw = Draw(rng, split)
    question = draw.pick(questions(record, draw))
    return question | {"question": casual(rng, split, question["question"], question["answer"])}


def right(answer: str, question: dict) -> bool:
    """Whether an answer says what is right; of yes and no the first word counts."""
    if question["kind"] in ("check", "both"):
        return re.findall("[a-z]+", answer.lower())[:1] == [question["accept"][0].lower()[:-1]]
    return score_turn(answer, question)
