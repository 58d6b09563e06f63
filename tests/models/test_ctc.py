"""Readings: all ways to spell a text count, and words decide where letters waver."""

import itertools
import math

import pytest
import torch

from models.letters import LABELS, LETTERS
from models.readings import ALONE, LINE, TABLE, WORDS, Reading, judged, readings
from training.objectives.audio import ctc_labels
from training.objectives.words import count_words

A, B, SPACE = (LETTERS.index(letter) + 1 for letter in "ab ")


def test_without_words_a_text_is_as_likely_as_all_paths_that_spell_it(monkeypatch):
    monkeypatch.setattr("models.readings.BONUS", 0.0)
    monkeypatch.setattr("models.readings.BEHIND", 100.0)
    torch.manual_seed(3)
    scores = torch.full((5, LABELS), -1e4)
    scores[:, [0, A, B]] = torch.randn(5, 3)
    log_probs = scores.log_softmax(-1)
    expected: dict[str, float] = {}
    for path in itertools.product([0, A, B], repeat=5):
        text = "".join(LETTERS[label - 1] for label in ctc_labels(list(path)))
        way = math.exp(sum(float(log_probs[t, label]) for t, label in enumerate(path)))
        expected[text] = expected.get(text, 0.0) + way
    found = {reading.letters: math.exp(reading.score) for reading in readings(log_probs, None)}
    for text, share in expected.items():
        if share > 0.01:
            assert found[text] == pytest.approx(share, rel=1e-3)
    assert readings(log_probs, None)[0].letters == max(expected, key=expected.get)


def heard(text: str, doubt: dict[int, str]) -> torch.Tensor:
    """Slots of which each is surely a letter, but for those in doubt, which lean to another."""
    scores = torch.full((2 * len(text), LABELS), -9.0)
    for at, letter in enumerate(text):
        scores[2 * at, LETTERS.index(letter) + 1] = 3.0
        scores[2 * at + 1, 0] = 3.0
        if at in doubt:
            scores[2 * at, LETTERS.index(doubt[at]) + 1] = 3.5
    return scores.log_softmax(-1)


@pytest.fixture(scope="module")
def table():
    return count_words(["the red dog", "the red cat", "a rod", "the dog is red"] * 20, 50, 500, 500)


def test_words_decide_where_letters_waver(table):
    log_probs = heard("the red dog", {5: "o"})  # "rod" sounds a little likelier
    assert readings(log_probs, None)[0].letters == "the rod dog"
    assert readings(log_probs, table)[0].letters == "the red dog"


def test_a_new_word_still_comes_through(table):
    assert readings(heard("the zub dog", {}), table)[0].letters == "the zub dog"


def test_silence_reads_as_nothing(table):
    scores = torch.full((6, LABELS), -9.0)
    scores[:, 0] = 5.0
    assert readings(scores.log_softmax(-1), table)[0].letters == ""


def test_a_line_is_judged_as_a_whole_and_the_table_less():
    """The table likes "the cat" better, who knows whole lines "a cat"."""
    heard = [Reading("the cat", -10.0, -5.0), Reading("a cat", -11.0, -8.0)]
    assert [one.letters for one in judged(heard, [-20.0, -5.0])] == ["a cat", "the cat"]
    assert [one.letters for one in judged(heard, [-5.0, -20.0])] == ["the cat", "a cat"]
    first = judged(heard, [-5.0, -20.0])[0]
    assert first.score == pytest.approx(-10.0 + (WORDS - TABLE) * 5.0 - LINE * 5.0)


def test_a_listed_word_alone_is_as_likely_as_any_other():
    pair, listed = Reading("sigh russ", -10.0, -18.0), Reading("cyrus", -11.0, -15.0)
    unlisted = Reading("sirus", -9.0, -28.0)
    best = judged([pair, listed, unlisted], [-19.0, -25.0, -36.0])[0]
    assert best.letters == "cyrus"
    assert best.score == judged([listed], [ALONE])[0].score
    assert judged([unlisted], [-26.0])[0].score < judged([unlisted], [ALONE])[0].score
    seen = Reading("cyrus", -11.0, 2.0)  # a word that was made likelier may count as more than sure
    assert judged([seen], [-25.0])[0].score == judged([seen], [ALONE])[0].score
