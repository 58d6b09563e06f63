"""Newer kinds of talk: facts of the user, typing, counting, stories; nothing held out is in train."""

from __future__ import annotations

import random
import re

from data import text
from data.dialogue import (
    counting,
    followups,
    groups,
    model_parts,
    numbers,
    salutes,
    scoring,
    social,
    stories,
    typed,
    user_facts,
    word_games,
    words,
)
from data.dialogue.conversation import score_turn
from data.dialogue.draw import FURTHER, Draw, in_split, share
from data.dialogue.wordings import LISTS, WORDINGS
from tests.fixtures.wordings import plain


def test_new_kinds_have_held_out_wordings_and_practise_none_of_them() -> None:
    lists = [*WORDINGS.values(), *(tuple(row["ask"]) for row in LISTS["own"]), user_facts.CORRECTIONS]
    for fact in user_facts.FACTS.values():
        lists += [tuple(fact["tell"]), *(tuple(asks["ask"]) for asks in fact["asks"])]
    for options in lists:
        held = {*share(options, "dev"), *share(options, "test")}
        practised = {*share(options, "train"), *FURTHER.get(options[0], ())}
        assert len(held) >= 4
        assert not {plain(w) for w in held} & {plain(w) for w in practised}


def test_greetings_practise_none_of_the_held_out_ones() -> None:
    groups = [w for group in (social.GREETINGS, social.THANKS, social.IDENTITY, social.SMALL_TALK,
                              salutes.SALUTES, model_parts.OWN) for w, _ in group]
    held = {plain(w) for group in groups for w in (*share(group, "dev"), *share(group, "test"))}
    practised = {plain(w) for group in groups for w in (*share(group, "train"), *FURTHER.get(group[0], ()))}
    assert not held & practised


def test_a_fact_that_was_told_is_known_and_another_is_not() -> None:
    draw = Draw(random.Random(1), "test")
    for _ in range(200):
        facts = user_facts.UserFacts(draw)
        told = facts.tell()
        (key, value), = facts.known.items()
        assert value.lower() in told.question.lower() and facts.ask(key).kind == "fact"
        answer, pet = facts.ask(key).answer, key[0] == "pet"
        assert value in answer or (pet and key[1] in answer)  # "Do I have a pet?" "Yes, you have a dog."
        new = facts.correct()
        assert facts.known[key] != value and facts.known[key].lower() in new.question.lower()
        assert facts.ask(key).kind == "fact_corrected"
        assert "know" in facts.ask_unknown().answer


def test_what_is_told_is_held_out_too() -> None:
    def told(split: str) -> set[str]:
        draw = Draw(random.Random(5), split)
        facts = [user_facts.UserFacts(draw) for _ in range(4000)]
        for fact in facts:
            fact.tell()
        known = [item for fact in facts for item in fact.known.items()]
        return {value for (kind, _), value in known if kind in ("name", "town")}

    assert len(told("train")) > 500 and len(told("test")) > 15
    assert not told("train") & told("test")


def test_stories_are_many_and_keep_the_rule() -> None:
    draw = Draw(random.Random(2), "train")
    turns = [stories.story(draw)[0] for _ in range(3000)]
    assert len({turn.answer for turn in turns}) > 2990
    for turn in turns:
        assert scoring.is_story(turn.answer, turn.rule[1])
        assert turn.rule[1] in turn.question and text.is_clean(turn.answer)
        assert "{" not in turn.answer and len(turn.answer.split()) < 90
    once = "A cat sat. It ate. It ran. It slept. It woke."
    assert scoring.is_story(once, "cat") and not scoring.is_story(once, "dog")
    assert not scoring.is_story(once.replace("It ran.", "It ate."), "cat")
    draws = [Draw(random.Random(4), split) for split in ("train", "test")]
    train, test = ({stories.story(draw)[0].rule[1] for _ in range(900)} for draw in draws)
    assert len(test) > 2 and not train & test  # so no story that is right is one of training's
    away = "She has been there. It ate. It ran. It slept. It woke."
    assert not scoring.is_story(away, "bee") and scoring.is_story(away.replace("been", "bees"), "bee")


def test_what_is_held_out_of_one_kind_is_in_no_other() -> None:
    """Kinds that share wordings or words keep the same of them from training."""
    rngs = {split: Draw(random.Random(3), split) for split in ("train", "dev", "test")}
    spelled = {
        split: {word_games.spell_any(draw)[0].answer for _ in range(2000)} for split, draw in rngs.items()
    }
    common = {"-".join(word.upper()) + "." for word in words.SPELLABLE}
    assert spelled["train"] & common and not (spelled["dev"] | spelled["test"]) & common
    for split, template in groups.HELD_OUT.items():
        start = template.split("{x}")[0]
        assert all(groups.is_a(rngs[split])[0].question.startswith(start) for _ in range(50))
        asked = [groups.is_a(rngs["train"])[0].question for _ in range(2000)]
        assert not any(question.startswith(start) for question in asked)


def test_steps_that_are_asked_in_the_test_are_counted_nowhere_in_training() -> None:
    def counted(split: str, times: int) -> set[str]:
        draw = Draw(random.Random(4), split)
        turns = [counting.count_on(draw)[0] for _ in range(times)]
        by_step = [turn.answer for turn in turns if "step" in turn.question or " by " in turn.question]
        return {answer for answer in by_step if not answer.startswith("1,")}

    assert len(counted("test", 1000)) > 10 and not counted("test", 1000) & counted("train", 40_000)


def test_lists_are_right_by_any_of_their_members() -> None:
    check = {"answer": "Red and blue.", "accept": [], "rule": ["names", 2, "red", "blue", "green"]}
    assert score_turn("Green, red.", check) and score_turn("green and blue", check)
    assert not score_turn("Green.", check) and not score_turn("Red and red.", check)
    assert not score_turn("Red and banana.", check)


def test_sums_and_counts_of_the_new_kinds_are_right() -> None:
    draw = Draw(random.Random(3), "test")
    for _ in range(300):
        answer = counting.long_sum(draw)[0].answer
        a, sign, b, value = re.match(r"(\d+) (plus|minus) (\d+) is (\d+)", answer).groups()
        assert int(value) == int(a) + (1 if sign == "plus" else -1) * int(b) >= 0
        turn = counting.count_on(draw)[0]
        said = [int(n) for n in re.findall(r"\d+", turn.answer)]
        assert len({b - a for a, b in zip(said, said[1:], strict=False)}) == 1
        assert str(said[-1]) in turn.question


def test_typing_leaves_numbers_and_what_is_said_again_alone() -> None:
    rng = random.Random(4)
    for form in typed.FORMS:
        for _ in range(100):
            shown = typed.typed(rng, form, "My sister is called Margaret, and 12345.", "It is Margaret.")
            assert "12345" in shown and "margaret" in shown.lower()
    assert typed.typed(rng, "capitals", "My name is Mia.", "Nice to meet you, Mia!") == "MY NAME IS Mia."
    assert typed.typed(rng, "capitals", "Spell banana.", "B-A-N-A-N-A.") == "SPELL BANANA."
    questions = ["What is the capital of Italy?"] * 4000
    changed = {split: sum(typed.casual(rng, split, q, "Rome.") != q for q in questions) / 4000
               for split in ("train", "test")}
    capital = sum(typed.casual(rng, "train", q, "Rome.").isupper() for q in questions) / 4000
    assert 0.08 < capital < 0.12 and 0.35 < changed["train"] < 0.55 and changed["test"] < 0.5


def test_sums_that_are_held_out_are_said_by_no_kind_of_training():
    sums = {(sign, a, b) for sign in "+-" for a in range(21) for b in range(21)}
    kept = {one for one in sums if not in_split(one, "train")}
    draw = Draw(random.Random(0), "train")
    said: set[tuple[str, int, int]] = set()
    for _ in range(3000):
        for turn in (*numbers.word_problem(draw), *followups._sum(draw), *numbers.arithmetic(draw)):
            found = re.search(r"(\d+) (plus|minus) (\d+) is", turn.answer)
            if found:
                said.add(("+" if found[2] == "plus" else "-", int(found[1]), int(found[3])))
    assert len(kept) > 20 and not said & kept


def test_a_typing_error_makes_no_other_word() -> None:
    rng = random.Random(0)
    made = {typed.misspelled(rng, "Please count.", set()) for _ in range(400)}
    assert len(made) > 8 and all(map(text.is_clean, made))
