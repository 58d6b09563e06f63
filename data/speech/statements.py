"""Short statements to be spoken and asked about, such as "The brother has three dogs."

A statement is one or two clauses. A clause is {"family", "slots", "used"}: its pattern's family in
statements.json, the words that fill it, and which of them are said. Questions are drawn from clauses
(statement_questions.py), so that one recording can be asked in many wordings. Dev and test have names and
combinations of their own.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from pathlib import Path
from string import Formatter

from data.dialogue.draw import Draw, in_split
from data.dialogue.facts import NAMES
from data.english import article
from models.checkpoint import read_json

LONGEST = 18  # words; longer statements are drawn again
TWO_CLAUSES = 0.4  # of the statements
FORMS = ("has", "do", "have", "when", "where", "objects")  # fields of a verb
# What a slot tells: saying "three black dogs" says the noun, the number and the colour.
TELLS = {"what": ("noun", "many", "colour"), "plain": ("noun", "many"), "thedef": ("noun", "colour"),
         "onedef": ("noun", "colour"), "kinds": ("noun",)}
# The combination of a family that belongs to one split, where it is not who and which thing.
KNOWN = {"go": ("who", "where"), "be": ("entry", "where"), "meet": ("who", "whom"), "job": ("who", "job"),
         "event": ("event", "when"), "price": ("entry", "price"), "age": ("who", "age"),
         "weather": ("has", "where")}
NAMED = ("who", "whom", "entry", "where", "event", "job")  # slots by which questions know a clause


@lru_cache(maxsize=1)
def tables() -> dict:
    """Word lists, families of patterns and wordings."""
    return read_json(Path(__file__).with_suffix(".json"))


def sentence(text: str) -> str:
    """One space between words, a capital at each beginning."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" (?=[?.,!])", "", text)
    return re.sub(r"(^|[.?!] )([a-z])", lambda m: m[1] + m[2].upper(), text)


def fields(template: str) -> list[str]:
    """The slots that a template names."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


# ---- clauses ---------------------------------------------------------------------------------


@lru_cache(maxsize=3)
def names(split: str) -> tuple[str, ...]:
    """Names of people that one split has for itself."""
    return tuple(name for name in NAMES if in_split(("statement", name), split))


def person(draw: Draw) -> str:
    """A name or a relative; dev and test have names of their own beside those of train."""
    if draw.chance() < 0.35:
        return draw.pick(tables()["people"])
    return draw.pick(names(draw.split if draw.chance() < 0.5 else "train"))


def things(noun: str, number: str, colour: str) -> dict[str, str]:
    """The slots of "three black dogs": `noun` is "mouse/mice", or takes -s; number "" is one."""
    one, _, many = noun.partition("/")
    many = many or one + "s"
    name, verb, they = (many, "are", "they") if number else (one, "is", "it")
    return {
        "entry": noun, "many": number, "colour": colour, "single": one, "noun": many,
        "plain": f"{number} {many}" if number else article(one),
        "what": f"{number} {colour} {many}" if number else article(f"{colour} {one}".strip()),
        "the": f"the {name}", "thedef": f"the {colour} {name}", "one": f"the {one}",
        "onedef": f"the {colour} {one}", "kinds": f"{colour} {many}", "are": verb, "they": they,
    }


def _objects(draw: Draw, kinds: str, family: str) -> dict[str, str]:
    noun = draw.pick([noun for kind in kinds.split() for noun in tables()["nouns"][kind]])
    many = family != "price" and draw.chance() < 0.6
    coloured = draw.chance() < (0.25 if family == "like" else 0.5)
    words = tables()
    colour = draw.pick([c for c in words["colours"] if c != noun]) if coloured else ""
    return things(noun, draw.pick(words["numbers"]) if many else "", colour)


def draw_slots(draw: Draw, family: str) -> dict[str, str]:
    """Words for everything that a pattern of the family may name; what cannot be is not there."""
    words = tables()
    verb = dict(zip(FORMS, draw.pick(words["families"][family]["verbs"]).split("|"), strict=False))
    slots = {name: verb[name] for name in ("has", "do", "have")}
    slots |= {"who": person(draw), "whom": person(draw)}
    if verb.get("when"):
        slots["when"] = draw.pick(words["when"][verb["when"]])
    if verb.get("where"):
        preposition, _, slots["place"] = draw.pick(words["where"][verb["where"]]).partition("|")
        slots["where"] = f"{preposition} {slots['place']}"
        if verb["where"] == "goals" and verb["have"] in ("go", "travel", "going"):
            slots["how"] = draw.pick(words["how"])
    if family == "event":
        slots["event"] = draw.pick(words["events"][verb["objects"]])
    elif kinds := verb.get("objects", "").strip():
        slots |= _objects(draw, kinds, family)
    if family == "job":
        slots["job"] = article(draw.pick(words["jobs"]))
    if family in ("price", "age"):
        slots[family] = draw.pick(words[f"{family}s"])
    if family == "be":  # the verb agrees with the things
        slots |= {"has": slots["are"], "do": slots["are"], "have": ""}
    return slots


def _fits(pattern: str, slots: dict[str, str]) -> bool:
    named = fields(pattern)
    return all(name in slots for name in named) and bool(slots.get("colour") or "colour" not in named)


def clause(draw: Draw) -> dict:
    """{"family", "slots", "used", "text"}: one fact in one of its family's patterns."""
    families = tables()["families"]
    family = draw.rng.choices(list(families), [one["weight"] for one in families.values()])[0]

    while True:
        slots = draw_slots(draw, family)
        key = (family, *(slots[name] for name in KNOWN.get(family, ("who", "entry"))))
        if slots["who"] != slots["whom"] and in_split(key, draw.split):
            break
    pattern = draw.pick([p for p in families[family]["said"] if _fits(p, slots)])
    named = fields(pattern)
    used = {part for name in named for part in (name, *TELLS.get(name, ())) if slots[part]}
    plain = pattern.startswith(("{who}", "{event}", "{thedef}", "it "))
    text = (draw.pick(tables()["leads"]) if plain else "") + pattern.format(**slots) + "."
    return {"family": family, "slots": slots, "used": sorted(used), "text": sentence(text)}


def overlap(one: dict, other: dict) -> bool:
    """Whether a question about one clause could mean the other."""
    if one["family"] == other["family"] == "weather":
        return True
    named = [{c["slots"][name] for name in NAMED if told(c, name)} for c in (one, other)]
    return bool(named[0] & named[1])


def told(one: dict, name: str) -> bool:
    """Whether a clause says what fills this slot."""
    return ("noun" if name == "entry" else name) in one["used"]


def statement(rng: random.Random, split: str) -> dict:
    """{"text", "facts": clauses}: what is said, and what can be asked about it."""
    draw = Draw(rng, split)
    while True:
        facts = [clause(draw)]
        if draw.chance() < TWO_CLAUSES:
            facts.append(clause(draw))
            if facts[0]["family"] == facts[1]["family"] or overlap(*facts):
                continue
        text = " ".join(fact.pop("text") for fact in facts)
        if len(text.split()) <= LONGEST:
            return {"text": text, "facts": facts}
