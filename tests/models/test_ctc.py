"""CTC prefix beam search: all alignments of a text count, and the n-gram model decides between letters."""

import itertools
import math

import pytest
import torch

from models.ctc import (
    ALPHABET,
    LABELS,
    LETTER_BONUS,
    LM_WEIGHT,
    prefix_beam_search,
    to_alphabet,
)
from models.ngram_lm import EDGE
from training.ctc import ctc_labels
from training.ngram_lm import count_ngrams

A, B, SPACE = (ALPHABET.index(letter) + 1 for letter in "ab ")


def test_without_a_language_model_a_text_scores_as_all_alignments_that_spell_it(monkeypatch):
    monkeypatch.setattr("models.ctc.PRUNE", 100.0)
    torch.manual_seed(3)
    scores = torch.full((5, LABELS), -1e4)
    scores[:, [0, A, B]] = torch.randn(5, 3)
    log_probs = scores.log_softmax(-1)
    expected: dict[str, float] = {}
    for path in itertools.product([0, A, B], repeat=5):
        text = "".join(ALPHABET[label - 1] for label in ctc_labels(list(path)))
        way = math.exp(sum(float(log_probs[t, label]) for t, label in enumerate(path)))
        expected[text] = expected.get(text, 0.0) + way
    found = {one.text: math.exp(one.score) for one in prefix_beam_search(log_probs, None)}
    for text, share in expected.items():
        if share > 0.01:
            assert found[text] == pytest.approx(share, rel=1e-3)
    assert prefix_beam_search(log_probs, None)[0].text == max(expected, key=expected.get)


def heard(text: str, doubt: dict[int, str]) -> torch.Tensor:
    """Slots of which each is surely a letter, but for those in doubt, which lean to another."""
    scores = torch.full((2 * len(text), LABELS), -9.0)
    for at, letter in enumerate(text):
        scores[2 * at, ALPHABET.index(letter) + 1] = 3.0
        scores[2 * at + 1, 0] = 3.0
        if at in doubt:
            scores[2 * at, ALPHABET.index(doubt[at]) + 1] = 3.5
    return scores.log_softmax(-1)


@pytest.fixture(scope="module")
def table():
    return count_ngrams(["the red dog", "the red cat", "a rod", "the dog is red"] * 20, 50, 500, 500)


def test_the_language_model_decides_between_like_letters(table):
    log_probs = heard("the red dog", {5: "o"})  # "rod" sounds a little likelier
    assert prefix_beam_search(log_probs, None)[0].text == "the rod dog"
    assert prefix_beam_search(log_probs, table)[0].text == "the red dog"


def test_a_new_word_still_comes_through(table):
    assert prefix_beam_search(heard("the zub dog", {}), table)[0].text == "the zub dog"


def test_text_in_the_alphabet_is_lower_case_without_marks():
    assert to_alphabet("Don't, Anna!") == "don't anna"


def test_silence_has_an_empty_transcript(table):
    scores = torch.full((6, LABELS), -9.0)
    scores[:, 0] = 5.0
    assert prefix_beam_search(scores.log_softmax(-1), table)[0].text == ""


def test_a_word_that_has_begun_counts_before_it_ends(table, monkeypatch):
    monkeypatch.setattr("models.ctc.WIDTH", 1)
    log_probs = heard("the red dog", {5: "o"})
    assert prefix_beam_search(log_probs, table)[0].text == "the red dog"


def test_a_transcript_scores_its_words_its_letters_and_its_end(table):
    text = "the dog is red"
    log_probs = heard(text, {})
    nats, context = 0.0, (EDGE,)
    for word in text.split():
        step, context = table.step(context, word)
        nats += step
    nats += table.log_prob(context, EDGE)
    alone, fused = (prefix_beam_search(log_probs, lm)[0] for lm in (None, table))
    assert alone.text == fused.text == text
    wanted = LM_WEIGHT * nats + LETTER_BONUS * len(text)
    assert fused.score - alone.score == pytest.approx(wanted, abs=1e-3)
