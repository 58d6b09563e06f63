"""Hill climbing: readings that the search did not hold are found next to those that it did."""

import math

import numpy as np
import pytest
import torch

from models import lexicon, neighbours
from models.climbing import climbed
from models.letters import LABELS, LETTERS
from models.lexicon import Lexicon
from models.neighbours import exchanged, likelihoods, listening, misheard, stretches
from models.readings import Reading, judged, reading_of, readings
from training.objectives.words import count_words

WORDS = ["too", "to", "tot", "the", "red", "rod", "dog", "fog"]


def sound(text: str, doubt: dict[int, str] | None = None) -> torch.Tensor:
    """Two slots a letter, a letter and a blank; letters in doubt are as likely to be others. (S, labels)"""
    scores = torch.full((2 * len(text), LABELS), -9.0)
    for at, letter in enumerate(text):
        scores[2 * at, LETTERS.index(letter) + 1] = 3.0
        scores[2 * at + 1, 0] = 3.0
        for other in (doubt or {}).get(at, ""):
            scores[2 * at, LETTERS.index(other) + 1] = 3.0
    return scores.log_softmax(-1)


@pytest.fixture(scope="module")
def table():
    said = ["the red dog", "the rod", "a fog", "into two", "in to the fog", "the dog is red"]
    return count_words(said * 20, 50, 500, 500)


@pytest.mark.parametrize("slots", [4, 9])
def test_a_stretch_says_each_word_as_likely_as_ctc_has_it(slots, monkeypatch):
    monkeypatch.setattr(lexicon, "FAINT", 0.0)
    torch.manual_seed(slots)
    log_probs = torch.randn(slots, LABELS).log_softmax(-1)
    found = Lexicon(dict.fromkeys(WORDS, -1.0))
    places, heard = found.heard(log_probs.exp().double().numpy())
    said = [found.words[place] for place in places]
    assert sorted(said) == sorted(WORDS)
    assert heard == pytest.approx(likelihoods([log_probs] * len(said), said).numpy(), abs=1e-4)


def test_two_letters_alike_need_a_blank_between_them():
    slots = np.full((3, LABELS), 1e-9)
    for slot, letter in enumerate("too"):
        slots[slot, LETTERS.index(letter) + 1] = 1.0
    assert next(iter(Lexicon(dict.fromkeys(WORDS, -1.0)).likely(slots, 1))) == "to"


def test_of_words_that_sound_alike_the_common_one_comes_first():
    slots = sound("dog", {0: "f"}).exp().numpy()
    for common in ("dog", "fog"):
        found = Lexicon({word: -1.0 if word == common else -3.0 for word in WORDS})
        assert list(found.likely(slots, 2)) == sorted(("dog", "fog"), key=lambda word: word != common)


def test_what_is_made_likelier_is_read_where_it_may_have_been_said(table):
    log_probs = sound("the red dog", {8: "f"})  # dog or fog

    def read(wording) -> str:
        def expect(lines: list[str]) -> list[float]:
            return [-9.0] * len(lines)

        heard = readings(log_probs, wording)
        heard = judged(heard, expect([one.letters for one in heard]))
        return climbed(heard, log_probs, wording, expect)[0].letters

    assert {word: read(table.biased([word], 8.0)) for word in ("dog", "fog", "too")} == {
        "dog": "the red dog", "fog": "the red fog", "too": read(table),
    }
    for word in ("dog", "fog"):
        slots = sound("dog", {0: "f"}).exp().numpy()
        assert next(iter(table.biased([word], 8.0).lexicon.likely(slots, 2))) == word


def test_words_that_the_ears_cannot_spell_are_left_out():
    assert Lexicon({"café": -1.0, "": -1.0, "don't": -1.0}).words == ["don't"]


def test_a_line_with_too_many_letters_is_never_heard():
    assert likelihoods([sound("a")], ["a red dog"]).tolist() == [-math.inf]


def test_words_stand_where_they_are_said():
    assert stretches(sound("a red dog"), "a red dog") == [(0, 2), (3, 10), (11, 18)]


def test_one_place_at_a_time_is_exchanged():
    assert set(exchanged("a red dog", ["a rod dog", "the red fog", "a red dog"])) == {
        "a rod dog", "the red dog", "a red fog",
    }


def nearby(line: str, log_probs: torch.Tensor, table) -> dict[str, float]:
    """By line about how much likelier than this one it was heard."""
    return misheard(line, log_probs, listening(log_probs, table.lexicon))


def test_only_words_that_are_not_sure_are_misheard(table, monkeypatch):
    monkeypatch.setattr(neighbours, "WIDE", 1)
    log_probs = sound("the rod fog", {5: "e"})  # rod or red
    found = nearby("the rod fog", log_probs, table)
    assert found["the red fog"] == pytest.approx(0.0, abs=0.01)
    assert all(line.startswith("the ") and line.endswith(" fog") for line in found)
    assert nearby("the fog", sound("the fog"), table) == {}


def test_what_is_gained_in_one_place_is_gained_by_the_line(table):
    log_probs = sound("the red dog", {5: "o"})
    before, after = likelihoods([log_probs] * 2, ["the dog dog", "the red dog"]).tolist()
    gain = nearby("the dog dog", log_probs, table)["the red dog"]
    assert gain == pytest.approx(after - before, abs=0.1)


def test_a_word_may_have_been_two_and_two_one(table):
    assert "in to the fog" in nearby("into the fog", sound("in to the fog"), table)
    assert "into two" in nearby("in to two", sound("into two"), table)


def climb(log_probs, table, lines: list[str], liked: str) -> list[Reading]:
    """From these readings, judged by somebody who expects one line."""
    def expect(lines: list[str]) -> list[float]:
        return [-5.0 if line == liked else -20.0 for line in lines]

    nats = likelihoods([log_probs] * len(lines), lines).tolist()
    heard = [reading_of(line, one, table) for line, one in zip(lines, nats, strict=True)]
    return climbed(judged(heard, expect(lines)), log_probs, table, expect)


def test_a_line_that_no_reading_held_is_found_where_it_is_expected(table):
    log_probs = sound("the rod fog", {5: "e", 8: "d"})
    assert climb(log_probs, table, ["the rod fog"], "the red dog")[0].letters == "the red dog"  # two places
    assert climb(log_probs, table, ["the rod fog"], "the rod fog")[0].letters == "the rod fog"


def test_what_is_expected_but_was_not_heard_does_not_win(table):
    assert climb(sound("the rod fog"), table, ["the rod fog"], "the red dog")[0].letters == "the rod fog"


def test_climbing_keeps_what_was_found_and_never_ends_lower(table):
    torch.manual_seed(1)
    log_probs = (sound("the red dog") + torch.randn(22, LABELS)).log_softmax(-1)
    heard = judged(found := readings(log_probs, table)[:5], [-9.0] * len(found))
    after = climbed(heard, log_probs, table, lambda lines: [-9.0] * len(lines))
    assert {one.letters for one in heard} <= {one.letters for one in after}
    assert after[0].score >= heard[0].score - 1e-3
    assert after == sorted(after, key=lambda one: -one.score)


def test_silence_stays_silence(table):
    silence = sound("a")[1:].repeat(9, 1)
    assert [one.letters for one in climb(silence, table, [""], "a fog")] == [""]
