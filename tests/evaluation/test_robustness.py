"""Sentences that loop or stop early are found; what a speaker does is told from what a judge does."""

import numpy as np
import pytest

from evaluation.robustness import LONGEST, random_sentences, ratio, robust, spoken_seconds
from evaluation.words import letter_errors_of, skips_and_repeats


def speech(seconds: float) -> np.ndarray:
    """A tone and then a second of silence. (samples,)"""
    tone = np.sin(np.arange(int(16_000 * seconds)) / 3).astype(np.float32)
    return np.concatenate([tone, np.zeros(16_000, np.float32)])


def test_random_sentences_have_every_length():
    texts = random_sentences(["red", "dog", "seven"], 80)
    assert sorted({len(text.split()) for text in texts}) == list(range(1, LONGEST + 1))
    assert texts == random_sentences(["red", "dog", "seven"], 80)


def test_silence_at_the_end_does_not_count():
    assert spoken_seconds(speech(0.5)) == pytest.approx(0.5, abs=0.01)
    assert spoken_seconds(np.zeros(100, np.float32)) == 0.0


def test_loops_and_cuts_are_found():
    lengths = {"even": 2.0, "looped": 4.2, "cut": 0.9, "slow": 2.9}
    found = robust(list(lengths), lambda text: ratio(speech(lengths[text]), speech(2.0)))
    assert found["robust/looped"].value == found["robust/cut"].value == 0.25
    assert found["robust/length"].value == pytest.approx(1.25, abs=0.01)


@pytest.mark.parametrize(
    ("said", "skipped", "repeated"),
    [
        ("the red dog sat on a mat", False, False),
        ("the red dog sat on mat", False, False),  # one word: the judge's mistake
        ("the red dog a mat", True, False),
        ("the red dog", True, False),
        ("the red red dog sat on a mat", False, True),
        ("the red dog the red dog sat on a mat", False, True),
        ("the red dog sat down on a mat", False, False),
        ("", True, False),
    ],
)
def test_skips_and_repeats(said, skipped, repeated):
    assert skips_and_repeats("The red dog sat on a mat.", said) == (skipped, repeated)


def test_letters_of_chosen_words():
    text = "A zebra saw a yak."
    assert letter_errors_of({"zebra", "yak"}, text, "a zebra saw a yak") == (0, 8)
    assert letter_errors_of({"zebra", "yak"}, text, "a zero saw the yak") == (2, 8)
    assert letter_errors_of({"yak"}, text, "a zero saw") == (3, 3)
    assert letter_errors_of({"lion"}, text, "a zebra") == (0, 0)
