"""Answers about two statements follow from their words."""

import random
import re
from collections import Counter

import pytest

from data.dialogue.draw import Draw
from data.speech.statement_pairs import NEITHER, Pairs, pair_questions
from data.speech.statement_questions import NOT_SAID, unsaid
from data.speech.statements import NAMES, statement, tables

MANY = {
    one: many or one + "s"
    for nouns in tables()["nouns"].values()
    for one, _, many in (noun.partition("/") for noun in nouns)
}
PEOPLE = [*NAMES, *tables()["people"]]


def says(record, x):
    """Whether the text of a statement has a thing, in any number, or somebody."""
    word = re.sub("^(an?|the) ", "", x, flags=re.I)
    return bool(
        re.search(
            rf"\b({re.escape(word)}|{re.escape(MANY.get(word, word))})\b", record["text"], re.I
        )
    )


def asked_for(question, kind, split):
    """What stands in the gap of a wording."""
    for template in tables()["pairs"][kind][split]:
        before, after = map(re.escape, template.split("{x}"))
        if m := re.fullmatch(f"{before}(.+){after}", question, re.I):
            return m[1]
    raise AssertionError(question)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_answers_about_two_statements_are_true(split):
    rng, seen = random.Random(4), Counter()
    records = [statement(rng, split) for _ in range(300)]
    pairs = Pairs(records)
    for _ in range(600):
        two = [records[i] for i in pairs.draw(rng)]
        for q in pair_questions(*two, rng, split):
            answer = q["answer"]
            nth = re.findall(r"\b(first|second)\b", q["question"].lower())
            if q["kind"] in ("which", "both"):
                there = [says(record, asked_for(q["question"], q["kind"], split)) for record in two]
                if q["kind"] == "both":
                    assert all(there) == answer.startswith("Yes"), (q, two)
                else:
                    assert there == {NEITHER: [False, False], "The first one.": [True, False]}.get(
                        answer, [False, True]
                    ), (q, two)
            elif q["kind"] == "unsaid" and len(nth) == 1:
                told = two[nth[0] == "second"]["text"]
                assert not all(
                    name.lower() in told.lower()
                    for name in PEOPLE
                    if re.search(rf"\b{name}\b", q["question"], re.I)
                ) or not any(re.search(rf"\b{name}\b", q["question"], re.I) for name in PEOPLE), (
                    q,
                    told,
                )
            elif answer != NOT_SAID:
                at = [nth[0] == "second"] if len(nth) == 1 else (0, 1)
                named = {name for name in PEOPLE if re.search(rf"\b{name}\b", answer, re.I)}
                assert any(all(says(two[i], name) for name in named) for i in at), (q, two)
            seen[q["kind"]] += 1
    assert min(seen[k] for k in ("which", "both", "who_of", "unsaid", "about", "who")) > 15, seen


def test_who_is_not_mentioned_is_not_said():
    for i in range(600):
        rng = random.Random(i)
        record, draw = statement(rng, "train"), Draw(rng, "train")
        q = unsaid(draw, draw.pick(record["facts"]), record["text"])
        new = [name for name in PEOPLE if q and re.search(rf"\b{name}\b", q["question"], re.I)]
        kind = q and re.search(r"(\w+) no$", q["rationale"])[1]
        assert (
            not q
            or kind in ("where", "when", "whom", "how", "colour", "many")
            or not all(says(record, n) for n in new)
        ), (q, record)
