"""Answers of conversations are true, told by rules of the test's own."""

import random
import re
from functools import cache

import pytest

from data.dialogue import chitchat, followups, groups, numbers, told, word_games, words, world
from data.dialogue.draw import FURTHER, Draw
from data.dialogue.facts import CAPITALS, COLORS, DAYS, MONTHS

NAMES = {
    after: names
    for names, lists in (
        (DAYS, ("DAY_AFTER", "DAY_BEFORE")),
        (MONTHS, ("MONTH_AFTER", "MONTH_BEFORE")),
    )
    for after in lists
}


@cache
def patterns(wordings):
    out = []
    for template in (*wordings, *FURTHER.get(wordings[0], ())):
        parts = re.split(r"{(\w+)}", template)
        holes = [
            f"(?P={n})" if n in parts[1 : 2 * i : 2] else f"(?P<{n}>.+?)"
            for i, n in enumerate(parts[1::2])
        ]
        out.append(
            re.compile("".join(re.escape(a) + b for a, b in zip(parts[::2], [*holes, ""])), re.I)
        )
    return out


def gaps(question, wordings, **known):
    """What fills a wording's gaps, each of the words that are known, where the question is of this list."""
    for pattern in patterns(tuple(wordings)):
        for cut in {question, question[:1].lower() + question[1:]}:
            m = pattern.fullmatch(cut)
            if m and all(
                m[name] in values for name, values in known.items() if name in m.groupdict()
            ):
                return m.groupdict()
    return None


NUMBERS = {str(n) for n in range(1000)}
WORDS = {word for one in word_games.LISTS["rhymes"] for word in one}
LETTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
AB = {"a": NUMBERS, "b": NUMBERS}


def rule(turn):
    """Whether the answer is true; None where there is no rule for the question."""
    asked, said = turn.question, turn.answer.lower().rstrip(".")
    yes = said.startswith("yes")
    if g := gaps(asked, numbers.IS_BIGGER, **AB):
        return (int(g["a"]) > int(g["b"])) == yes
    for wordings, best in ((numbers.BIGGER, max), (numbers.SMALLER, min)):
        if g := gaps(asked, wordings, **AB):
            return int(said.split()[0]) == best(int(g["a"]), int(g["b"]))
    if g := gaps(asked, numbers.EVEN, **AB):
        return said == f"{g['a']} is {'odd' if int(g['a']) % 2 else 'even'}"
    for wordings, step in ((numbers.NEXT, 1), (numbers.BEFORE, -1)):
        if g := gaps(asked, wordings, **AB):
            return int(said.split()[0]) == int(g["a"]) + step
    for name, names in NAMES.items():
        if g := gaps(asked, getattr(numbers, name), d=names):
            step = 1 if "AFTER" in name else -1
            return said.split()[0] == names[(names.index(g["d"]) + step) % len(names)].lower()
    for wordings, sign in ((numbers.GAIN, 1), (numbers.LOSE, -1)):
        if g := gaps(asked, wordings, **AB):
            return int(re.search(r"so (\d+)", said)[1]) == int(g["a"]) + sign * int(g["b"])
    if g := gaps(asked, world.IS_COLOR, o=COLORS, k=world.PALETTE):
        return (COLORS[g["o"]] == g["k"]) == yes
    if g := gaps(asked, word_games.WORDINGS["is_rhyme"], w=WORDS, v=WORDS):
        return any({g["w"], g["v"]} <= set(one) for one in word_games.LISTS["rhymes"]) == yes
    if g := gaps(asked, words.SPELL, w=words.SPELLABLE):
        return said.replace("-", "") == g["w"]
    for wordings, at in ((words.FIRST, 0), (words.LAST, -1)):
        if g := gaps(asked, wordings, w=words.SPELLABLE):
            return said.split()[-1] == g["w"][at].lower()
    if g := gaps(asked, chitchat.LISTS["next_letter"], x=LETTERS):
        return ord(said[0]) == ord(g["x"].lower()) + 1
    for name, double in (("half", False), ("double", True)):
        if g := gaps(asked, chitchat.LISTS[name], **AB):
            return int(said.split()[-1]) == (2 * int(g["a"]) if double else int(g["a"]) // 2)
    return None


MAKERS = (
    numbers.compare,
    numbers.calendar,
    numbers.counting,
    numbers.word_problem,
    world.color,
    word_games.rhyme,
    words.spelling,
    chitchat.letter,
    chitchat.halves,
)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("make", MAKERS)
def test_answers_are_true(make, split):
    draw = Draw(random.Random(5), split)
    found = [(turn, rule(turn)) for _ in range(200) for turn in make(draw)]
    assert not [turn for turn, true in found if true is False]
    assert sum(true is True for _, true in found) > 15


def test_what_was_told_of_two_things_is_answered():
    draw, seen = Draw(random.Random(5), "test"), 0
    for _ in range(400):
        (turn,) = told.told_scene(draw)
        asked, said = turn.question, turn.answer
        colors = {
            thing: color
            for color, thing in re.findall(
                rf"\ban? ({'|'.join(told.COLORS)}) (\w+)", asked.rsplit(". ", 1)[0] + ".", re.I
            )
        }
        numbered = {
            thing: n
            for n, thing in re.findall(r"(\w+) (\w+)(?= and|\.)", asked.rsplit(". ", 1)[0] + ".")
        }
        if m := re.fullmatch(r"The (\w+) is (\w+)\.", said):
            seen += 1
            assert colors[m[1]] == m[2], turn
            assert m[1] in asked.rsplit(". ", 1)[1] or m[2] in asked.rsplit(". ", 1)[1]
        elif m := re.match(r"(Yes|No), there is (?:an? |no )?(\w+)", said):
            seen += 1
            assert (m[1] == "Yes") == (m[2] in colors), turn
        elif m := re.fullmatch(r"There are (\w+) (\w+)\.", said):
            seen += 1
            assert numbered[m[2]] == m[1], turn
    assert seen > 380


def test_second_turns_answer_what_they_ask():
    draw = Draw(random.Random(5), "test")
    for _ in range(100):
        first, second = followups._capital(draw)
        place = gaps(second.question, followups.AND_OF, x=CAPITALS)["x"]
        assert second.answer == f"The capital of {place} is {CAPITALS[place]}."
        first, second = followups._color(draw)
        thing = gaps(second.question, followups.AND, x=COLORS)["x"]
        assert second.answer.lower() == f"{thing} is {COLORS[thing]}."


def test_is_a_follows_the_lists():
    kinds = {
        member: {kind, groups.KINDS[kind]["kind"]}
        for kind in groups.KINDS
        for member in groups.KINDS[kind]["members"]
    }
    for split in ("dev", "test"):
        draw = Draw(random.Random(5), split)
        for _ in range(200):
            (turn,) = groups.is_a(draw)
            member, asked = re.fullmatch(
                r"(?:Yes|No), (?:an? )?(.+?) is (?:not )?an? (.+)\.", turn.answer
            ).groups()
            told = kinds.get(member) or kinds[member[0].upper() + member[1:]]
            assert (asked in told) == turn.answer.startswith("Yes"), turn
            assert member.lower() in turn.question.lower() and asked in turn.question
