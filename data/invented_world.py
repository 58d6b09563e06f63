"""An invented world: facts that no language model can know, with wordings held out for each split.

`invented_world.json` holds twelve lands and ten relations: a value for each land, a sentence that
answers, and questions for train, dev and test. Every fact occurs in every split; a wording in one.
A relation's values all differ, so that guessing among them is right in one of twelve.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

from data.dialogue.conversation import casual, normalise

TABLE = Path(__file__).with_suffix(".json")


class Fact(NamedTuple):
    """One fact of the world."""

    land: str
    relation: str
    value: str
    answer: str  # a sentence
    others: tuple[str, ...]  # the relation's values for other lands


@cache
def table() -> dict:
    """The file's content."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


@cache
def facts() -> tuple[Fact, ...]:
    """All facts, relation by relation."""
    found = []
    for relation, row in table()["relations"].items():
        for land, value in zip(table()["lands"], row["values"], strict=True):
            others = tuple(other for other in row["values"] if other != value)
            sentence = row["answer"].format(land=land, value=value)
            found.append(Fact(land, relation, value, sentence[:1].upper() + sentence[1:], others))
    return tuple(found)


def wordings(relation: str, split: str) -> list[str]:
    """How a split asks for a relation; {land} stands for the land."""
    return table()["relations"][relation][split]


def question(fact: Fact, rng: random.Random, split: str) -> str:
    """A question for a fact, as people type it."""
    asked = rng.choice(wordings(fact.relation, split)).format(land=fact.land)
    return casual(rng, split, asked, fact.answer)


def all_questions(split: str) -> list[tuple[Fact, str]]:
    """Every fact in every wording of a split."""
    return [
        (fact, asked.format(land=fact.land))
        for fact in facts()
        for asked in wordings(fact.relation, split)
    ]


def right(reply: str, fact: Fact) -> bool:
    """Whether a reply names the fact's value and no other of its relation."""
    said = f" {' '.join(normalise(reply))} "

    def names(value: str) -> bool:
        return f" {' '.join(normalise(value))} " in said

    return names(fact.value) and not any(map(names, fact.others))


def chance() -> float:
    """Share of questions that guessing among a relation's values gets right."""
    return 1 / len(table()["lands"])
