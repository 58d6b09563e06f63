"""Short spoken statements, such as "The brother has three dogs.", and typed questions about them.

A statement is one or two clauses. A clause is {"family", "slots", "used"}: its pattern's family in
statements.json, the words that fill it, and which of them are said. Questions are drawn from clauses, so that
one recording can be asked in many wordings. What is not said is answered by `NOT_SAID`. Dev and test
have names, combinations and wordings of their own.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from pathlib import Path
from string import Formatter

from data.dialogue.conversation import casual, score_turn
from data.dialogue.draw import Draw, in_split
from data.dialogue.facts import NAMES
from data.english import article
from models.checkpoint import read_json

NOT_SAID = "That was not said."
LONGEST = 18  # words; longer statements are drawn again
TWO_CLAUSES = 0.4  # of the statements
FORMS = ("has", "do", "have", "when", "where", "objects")  # fields of a verb
# What a slot tells: saying "three black dogs" says the noun, the number and the colour.
TELLS = {"what": ("noun", "many", "colour"), "plain": ("noun", "many"), "thedef": ("noun", "colour"),
         "onedef": ("noun", "colour"), "kinds": ("noun",)}
GIVEN = {"has", "do", "have", "the", "one", "are", "they", "place", "single"}  # need not be said to be asked with
PEOPLE, PLACES = ("who", "whom"), ("where", "place")


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


def _slots(draw: Draw, family: str) -> dict[str, str]:
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
        slots = _slots(draw, family)
        key = (family, slots.get("event") or slots["who"], slots.get("entry") or slots.get("where", slots["whom"]))
        if slots["who"] != slots["whom"] and in_split(key, draw.split):
            break
    pattern = draw.pick([p for p in families[family]["said"] if _fits(p, slots)])
    named = fields(pattern)
    used = {told for name in named for told in (name, *TELLS.get(name, ())) if slots[told]}
    lead = draw.pick(tables()["leads"]) if pattern.startswith(("{who}", "{event}", "{thedef}", "it ")) else ""
    return {"family": family, "slots": slots, "used": sorted(used), "text": sentence(lead + pattern.format(**slots) + ".")}


def overlap(one: dict, other: dict) -> bool:
    """Whether a question about one clause could mean the other."""
    if one["family"] == other["family"] == "weather":
        return True
    named = [{c["slots"][name] for name in ("who", "whom", "entry", "where", "event", "job") if told(c, name)}
             for c in (one, other)]
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


# ---- questions -------------------------------------------------------------------------------


def _told(template: str, one: dict) -> bool:
    """Whether a template names nothing that the clause does not say."""
    slots = one["slots"]
    named = {n for name in fields(template) for n in (name, *TELLS.get(name, ())) if slots.get(n, None) != ""}
    return all(name in slots for name in fields(template) if name != "have") and all(
        name in one["used"] or name in GIVEN or name in TELLS or name == "noun" for name in named
    )


def _filled(templates: list[str], one: dict) -> list[str]:
    return [template.format(**one["slots"]) for template in templates if _told(template, one)]


def worded(draw: Draw, kind: dict, one: dict, frames: dict[str, list[str]] | None = None) -> str:
    """A question of one kind about a clause, in a wording of the split; "" if there is none.

    Outside train either the question is worded as never in train, or what stands around it.
    """
    every = tables()["frames"]
    way = "tell" if frames is None and draw.chance() < 0.25 else "ask"
    frame = draw.pick((frames or every[way])[draw.split])
    if frames is None and draw.split != "train" and draw.chance() < 0.5:
        way, frame = draw.split, "{}?"
    cores = _filled(kind[way], one)
    if not cores:
        return ""
    core = draw.pick(cores)
    return sentence(frame.format(core, q=core))


def asked(draw: Draw, name: str, one: dict, frames: dict[str, list[str]] | None = None) -> dict | None:
    """A question about what is said, with its answer."""
    kind = tables()["families"][one["family"]]["kinds"][name]
    question = worded(draw, kind, one, frames)
    if not question or not _told(kind["answer"], one):
        return None
    right = [sentence(text + ".") for text in dict.fromkeys(_filled([kind["answer"], *kind["accept"]], one))]
    return {"kind": name, "question": question, "answer": right[0], "accept": list(dict.fromkeys(right[1:]))}


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
    about = dict(one)
    if "who" in one["used"] and (not absent or draw.chance() < 0.5):
        about["slots"] = one["slots"] | {"who": person(draw)}
        absent = [k for k in answerable(one) if k not in ("who", "many", "colour")]
        if about["slots"]["who"].lower() in text.lower():
            return None
    question = absent and worded(draw, kinds[draw.pick(absent)], about)
    if not question or about is not one and about["slots"] is not one["slots"] and about["slots"]["who"] not in question:
        return None
    return {"kind": "unsaid", "question": question, "answer": NOT_SAID, "accept": []}


def _changed(draw: Draw, one: dict, template: str) -> dict:
    """The slots with one thing that the template names changed."""
    slots, named = one["slots"], set(fields(template))
    choices = [name for name in (*PEOPLE, "where", "when", "event", "price", "age", "job") if name in named]
    if named & {"what", "plain", "the", "thedef", "one", "kinds"}:
        choices.append("entry")
    choices += [name for name in ("many", "colour") if named & {"what", "thedef", "plain"} and slots.get(name)]
    change = draw.pick(choices)
    while True:
        other = _slots(draw, one["family"])
        if other["has"] != slots["has"] and change not in ("many", "colour", *PEOPLE):
            continue
        if change in ("entry", "many", "colour"):
            parts = {name: slots[name] for name in ("entry", "many", "colour")}
            parts[change] = other[change] or parts[change]
            return slots | things(parts["entry"], parts["many"], parts["colour"])
        return slots | {name: other[name] for name in ((change, "place") if change == "where" else (change,))}


def check(draw: Draw, one: dict) -> dict | None:
    """A question to be answered by yes or no, each as often."""
    template = draw.pick([t for t in tables()["families"][one["family"]]["checks"] if _told(t, one)] or [""])
    if not template:
        return None
    truth = template.replace("{have}", "{has}").format(**one["slots"])
    right, slots = draw.chance() < 0.5, one["slots"]
    if not right:
        slots = _changed(draw, one, template)
    claim = template.replace("{have}", "{has}").format(**slots)
    if not right and claim == truth:
        return None
    frame = draw.pick(tables()["frames"]["check"][draw.split])
    question = frame.format(do=slots["do"], clause=template.format(**slots), claim=claim)
    answer = f"Yes, {truth}." if right else f"No, {truth}."
    return {"kind": "check", "question": sentence(question), "answer": sentence(answer),
            "accept": ["Yes." if right else "No."]}


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
    return question | {"question": casual(draw, question["question"])}


def right(answer: str, question: dict) -> bool:
    """Whether an answer says what is right; of yes and no the first word counts."""
    if question["kind"] in ("check", "both"):
        return answer.lower().replace(",", " ").replace(".", " ").split()[:1] == [question["accept"][0].lower()[:-1]]
    return score_turn(answer, question)
