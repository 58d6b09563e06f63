"""Facts that users tell about themselves: to be known later, to be corrected, not to be made up.

"My name is Mia." – "What is my name?" A value is to be copied from the dialogue, so names, towns and
numbers come from long lists, and in training some are invented. The wordings are in user_facts.json.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from data.dialogue import names, social
from data.dialogue.draw import Draw, Turn, slot
from data.dialogue.facts import NAMES
from data.english import upper
from models.checkpoint import read_json

_READ = read_json(Path(__file__).with_suffix(".json"))
VALUES = {kind: tuple(values) for kind, values in _READ["values"].items()}
FAVORITES = {kind: tuple(values) for kind, values in _READ["favorites"].items()}
CORRECTIONS = tuple(_READ["corrections"])
NAME = {
    "tell": social.INTRODUCE, "state": _READ["name_state"],
    "asks": [{"ask": social.ASK_NAME, "answer": "Your name is {v}.", "short": ["{v}", "You are {v}."],
              "unknown": "I don't know your name. Please tell me."}],
}
FACTS = {"name": NAME} | _READ["facts"]
# How often a fact is drawn. A fact is known by (kind, what it is of): ("pet", "dog"), ("age", "").
WEIGHTS = {"name": 6, "age": 3, "town": 4, "job": 2, "hobby": 2, "favorite": 6, "pet": 4, "person": 3}
HELD_OUT = 7  # per cent of the values of long lists, for dev and as many for test
INVENTED = 0.4  # of the names and towns in training
Key = tuple[str, str]


def _of(draw: Draw, kind: str) -> str:
    """What a fact is of: the pet, the person, the kind of favorite, or nothing."""
    if kind == "favorite":
        return draw.pick(tuple(FAVORITES))
    return draw.pick(VALUES[kind]) if kind in ("pet", "person") else ""


def _value(draw: Draw, key: Key) -> str:
    """What is told. A few values of the long lists are kept for dev and test."""
    kind, of = key
    if kind == "age" or of == "number":
        return str(draw.number(3, 99) if kind == "age" else draw.number(0, 999))
    if kind in ("name", "person", "pet", "town") and draw.practice(INVENTED):
        return names.invented(draw)
    if kind == "favorite":
        return draw.pick(FAVORITES[of])
    lists = {"person": "name", "pet": "pet name"}
    return draw.pick(_values(lists.get(kind, kind), draw.split))


def _filled(text: str, key: Key, value: str = "") -> str:
    """A wording with the fact in it, its first letter a capital."""
    said = text.format(k=key[1], v=value, n=value)
    return upper(re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", said))


@lru_cache(maxsize=64)
def _values(kind: str, split: str) -> tuple[str, ...]:
    """Values of a list that a split may use."""
    listed = (*VALUES[kind], *NAMES) if kind == "name" else VALUES[kind]
    low, high = {"dev": (0, HELD_OUT), "test": (HELD_OUT, 2 * HELD_OUT), "train": (2 * HELD_OUT, 100)}[split]
    return tuple(v for v in dict.fromkeys(listed) if low <= slot(("told", v)) < high)


class UserFacts:
    """What one user has told so far."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.known: dict[Key, str] = {}
        self.corrected: set[Key] = set()

    def tell(self) -> Turn:
        """A fact that was not told before."""
        key = self._unknown()
        fact, value = FACTS[key[0]], _value(self.draw, key)
        self.known[key] = value
        said = _filled(self._phrased(fact["tell"]), key, value)
        return self._noted(said, key)

    def correct(self) -> Turn:
        """Another value for a fact that was told."""
        key = self.draw.pick(tuple(self.known))
        old = self.known[key]
        while self.known[key] == old:
            self.known[key] = _value(self.draw, key)
        self.corrected.add(key)
        stated = _filled(self.draw.pick(FACTS[key[0]]["state"]), key, self.known[key])
        if not stated.startswith(("I ", self.known[key])):
            stated = stated[0].lower() + stated[1:]
        return self._noted(self._phrased(CORRECTIONS).replace("{s}", stated), key)

    def ask(self, key: Key | None = None) -> Turn:
        """A question for a fact that was told."""
        key = key or self.draw.pick(tuple(self.known))
        asks, value = FACTS[key[0]]["asks"], self.known[key]
        pets = sum(kind == "pet" for kind, _ in self.known)
        asked = asks[1] if len(asks) > 1 and pets == 1 and self.draw.chance() < 0.3 else asks[0]
        kind = "fact_corrected" if key in self.corrected else "fact"
        return Turn(
            _filled(self._phrased(asked["ask"]), key, value), _filled(asked["answer"], key, value),
            tuple(_filled(short, key, value) for short in asked["short"]), kind=kind,
        )

    def ask_unknown(self) -> Turn:
        """A question for a fact that was not told: the honest answer is not to know it."""
        key = self._unknown()
        asks = FACTS[key[0]]["asks"]
        untold = not any(kind == "pet" for kind, _ in self.known)
        asked = asks[1] if len(asks) > 1 and untold and self.draw.chance() < 0.3 else asks[0]
        answer = _filled(asked["unknown"], key)
        short = (answer.removesuffix(" Please tell me."), "I don't know.")
        return Turn(_filled(self._phrased(asked["ask"]), key), answer, short, kind="no_fact")

    def next(self) -> Turn:
        """What such a user says next: tells, asks, corrects."""
        if not self.known:
            return self.tell()
        roll = self.draw.chance()
        if roll < 0.2 and len(self.known) < 4:
            return self.tell()
        if roll < 0.35:
            return self.correct()
        return self.ask_unknown() if roll < 0.45 else self.ask()

    def _unknown(self) -> Key:
        while True:
            kind = self.draw.rng.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
            key = kind, _of(self.draw, kind)
            if key not in self.known:
                return key

    def _phrased(self, wordings) -> str:
        """A wording of this split, not filled in."""
        return self.draw.say(tuple(wordings), k="{k}", v="{v}", n="{n}", s="{s}")

    def _noted(self, said: str, key: Key) -> Turn:
        """The turn in which a fact is told: the answer says it again."""
        value = self.known[key]
        answer = _filled(FACTS[key[0]]["asks"][0]["answer"], key, value)
        if key[0] == "name" and key not in self.corrected:
            return Turn(said, f"Nice to meet you, {value}!", (f"Okay. {answer}",), kind="fact_told")
        met = (f"Nice to meet you, {value}!",) if key[0] == "name" else ()
        return Turn(said, f"Okay. {answer}", (answer, *met), kind="fact_told")


def no_fact(draw: Draw) -> list[Turn]:
    """A fact that is asked for and was never told."""
    return [UserFacts(draw).ask_unknown()]
