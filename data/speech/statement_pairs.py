"""Questions about two statements: "Which recording mentions a dog?" "The second one."

A question about one of the two names it ("in the first recording") or can only mean one of them.
"""

from __future__ import annotations

import random
import re

from data.dialogue.draw import Draw
from data.english import article, joined
from data.speech.statement_questions import NOT_SAID, about, answerable, asked
from data.speech.statements import overlap, sentence, tables, told

PAIRED = 0.35  # of the statements come in twos
ORDER = ("first", "second")
NEITHER = "Neither of them."
PEOPLE = ("who", "whom")
MENTIONED = (*PEOPLE, "job", "place", "event")  # slots that a recording mentions as they are


def mentions(record: dict) -> set[str]:
    """People, things, places, jobs and events of a statement, as a question names them."""
    found = set()
    for one in record["facts"]:
        slots = one["slots"]
        found |= {slots[name] for name in MENTIONED if told(one, "where" if name == "place" else name)}
        if told(one, "noun"):
            found.add(article(slots["single"]))
    return found


def people(record: dict) -> list[str]:
    """Who is in a statement, in the order of its facts."""
    found = [one["slots"][name] for one in record["facts"] for name in PEOPLE if told(one, name)]
    return list(dict.fromkeys(found))


class Pairs:
    """Draws two statements to be asked about together, half of them with something in common."""

    def __init__(self, records: list[dict]) -> None:
        self.count = len(records)
        places: dict[str, list[int]] = {}
        for i, record in enumerate(records):
            for mention in sorted(mentions(record)):
                places.setdefault(mention, []).append(i)
        self.alike = [found for found in places.values() if len(found) > 1]

    def draw(self, rng: random.Random) -> tuple[int, int]:
        """The numbers of two different statements."""
        if self.alike and rng.random() < 0.5:
            first, second = rng.sample(rng.choice(self.alike), 2)
        else:
            first, second = rng.sample(range(self.count), 2)
        return first, second


def pair_questions(first: dict, second: dict, rng: random.Random, split: str) -> list[dict]:
    """Two to six questions about two different statements, heard in this order."""
    draw, records = Draw(rng, split), (first, second)
    ways = [way for way in (_which, _neither, _both, _who, _about, _inside, _inside, _elsewhere)
            if draw.chance() < 0.6]
    found = [way(draw, records) for way in (*ways, _which, _plain)]
    distinct = {q["question"]: q for q in found if q}
    chosen = list(distinct.values())
    rng.shuffle(chosen)
    return chosen[:6] if len(chosen) >= 2 else pair_questions(first, second, rng, split)


def _say(draw: Draw, kind: str, **values: str) -> str:
    return sentence(draw.pick(tables()["pairs"][kind][draw.split]).format(**values))


def _question(
    kind: str, question: str, answer: str, accept: list[str] = (), rationale: str = ""
) -> dict:
    accept = list(dict.fromkeys(sentence(text) for text in accept))
    return {"kind": kind, "question": question, "answer": sentence(answer), "accept": accept,
            "rationale": rationale}


def _says(record: dict, mention: str) -> bool:
    """Whether the words of a mention, in any number, are in a statement."""
    word = re.sub(r"^(a|an|the) ", "", mention.lower())
    return mention in mentions(record) or re.search(rf"\b{word}", record["text"].lower()) is not None


def _which(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    at = draw.number(0, 1)
    only = [x for x in sorted(mentions(records[at])) if not _says(records[1 - at], x)]
    if not only:
        return None
    x, nth = draw.pick(only), ORDER[at]
    full = [f"the {nth} recording.", f"the {nth}.", f"{nth}.", f"the {nth} recording mentions {x}.",
            f"in the {nth} one.", f"in the {nth} recording.", f"the {nth} one mentions {x}."]
    return _question("which", _say(draw, "which", x=x), f"the {nth} one.", full, f"{x} the {nth}")


def _absent(draw: Draw, records: tuple[dict, dict]) -> str:
    """Something that neither mentions."""
    words = tables()
    while True:
        noun = draw.pick(words["nouns"][draw.pick(sorted(words["nouns"]))]).partition("/")[0]
        x = draw.pick((article(noun), draw.pick(words["people"])))
        if not any(_says(record, x) for record in records):
            return x


def _neither(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    if draw.chance() < 0.5:
        return None
    x = _absent(draw, records)
    accept = ["neither.", "none.", "none of them."]
    return _question("which", _say(draw, "which", x=x), NEITHER, accept, f"{x} neither")


def _both(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    """Yes and no as often where something is in both; elsewhere seldom, as it is always no."""
    common = sorted(mentions(records[0]) & mentions(records[1]))
    at = draw.number(0, 1)
    only = [x for x in sorted(mentions(records[at])) if not _says(records[1 - at], x)]
    if common and (not only or draw.chance() < 0.5):
        x = draw.pick(common)
        answer = f"yes, both mention {x}."
        return _question("both", _say(draw, "both", x=x), answer, ["yes."], f"{x} both")
    if not only or (not common and draw.chance() > 0.05):
        return None
    x = draw.pick(only)
    answer = f"no, only the {ORDER[at]} one mentions {x}."
    return _question("both", _say(draw, "both", x=x), answer, ["no."], f"{x} the {ORDER[at]}")


def _who(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    at = draw.number(0, 1)
    found = people(records[at])
    if not found:
        return None
    verb = "was" if len(found) == 1 else "were"
    names = joined(found)
    others = [joined(found[::-1]), f"it was {names}", f"the {ORDER[at]} recording is about {names}"]
    answer = f"{names} {verb} in the {ORDER[at]} recording."
    accept = [f"{one}." for one in (names, *others)]
    return _question("who_of", _say(draw, "who", nth=ORDER[at]), answer, accept)


def _about(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    at = draw.number(0, 1)
    if len(records[at]["facts"]) > 1:
        return None
    return about(draw, records[at]["facts"]) | {"question": _say(draw, "about", nth=ORDER[at])}


def _frames(at: int) -> dict[str, list[str]]:
    every = tables()["pairs"]["in"]
    return {split: [frame.replace("{nth}", ORDER[at]) for frame in every[split]] for split in every}


def _inside(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    """A question about one statement that says which."""
    at = draw.number(0, 1)
    one = draw.pick(records[at]["facts"])
    return asked(draw, draw.pick(answerable(one)), one, _frames(at))


def _elsewhere(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    """A question that says the wrong one of the two."""
    at = draw.number(0, 1)
    one = draw.pick(records[at]["facts"])
    if draw.chance() < 0.6 or any(overlap(one, other) for other in records[1 - at]["facts"]):
        return None
    found = asked(draw, draw.pick(answerable(one)), one, _frames(1 - at))
    if not found:
        return None
    rationale = found["rationale"].split(" yes")[0] + " no"
    return found | {"kind": "unsaid", "answer": NOT_SAID, "accept": [], "rationale": rationale}


def _plain(draw: Draw, records: tuple[dict, dict]) -> dict | None:
    """A question that can mean only one of the two, without saying which."""
    one, other = records if draw.chance() < 0.5 else records[::-1]
    fact = draw.pick(one["facts"])
    if any(overlap(fact, far) for far in other["facts"]):
        return None
    return asked(draw, draw.pick(answerable(fact)), fact)
