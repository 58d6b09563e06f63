"""Word errors do not depend on how words are written."""

import pytest

from evaluation.asking import another
from evaluation.words import letter_errors, word_errors


def test_case_punctuation_and_digits_do_not_count():
    assert word_errors("There are 3 dogs, I think!", "there are three dogs i think") == (0, 6)
    assert letter_errors("It's red.", "IT'S RED") == (0, 8)


def test_two_spellings_of_one_sound_are_one_word():
    assert word_errors("What color is the grey cat?", "what colour is the gray cat") == (0, 6)


def test_errors_are_counted():
    assert word_errors("the cat sat", "the cat sat down") == (1, 3)
    assert word_errors("the cat sat", "") == (3, 3)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_controls_never_meet_themselves(n):
    others = another(n)
    assert sorted(others) == list(range(n))
    assert all(i != other for i, other in enumerate(others))
