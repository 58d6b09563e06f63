"""The test set of text normalisation: its notation, and the shares that must be right."""

import re

from evaluation.normalisation import HALVES, Line, read_aloud, read_lines, score


def test_notation():
    line = Line("number", "dev", "1905", "{nineteen {oh|zero} five|one nine} [A D] I")
    assert line.accepts("nineteen oh five I") and line.accepts("Nineteen zero five ay dee, eye")
    assert line.accepts("one nine I") and not line.accepts("nineteen five I")
    assert not line.accepts("one nine") and not line.accepts("one nine I I")


def test_letters_count_as_their_names():
    line = Line("acronym", "dev", "PCs", "P {C's|Cs} W")
    assert line.accepts("pee sees double you") and not line.accepts("pee see double you")


def test_set_is_large_and_its_halves_share_no_line():
    halves = {half: {line.text for line in read_lines(half)} for half in HALVES}
    assert sum(map(len, halves.values())) >= 500
    assert not halves["dev"] & halves["test"]
    assert all(re.search(r"\w", line.accepted) for half in HALVES for line in read_lines(half))


def test_nearly_all_lines_are_read_as_a_person_would():
    right = score("dev", read_aloud)
    everything = sum(right.values(), [])
    assert sum(everything) / len(everything) >= 0.99
    assert {kind for kind, marks in right.items() if sum(marks) / len(marks) < 0.9} == set()


def test_most_lines_that_no_rule_was_written_for_are():
    """Rules are never changed for a line of the test half."""
    everything = sum(score("test", read_aloud).values(), [])
    assert sum(everything) / len(everything) >= 0.98


def test_plain_words_are_not_enough():
    everything = sum(score("test", lambda text: text).values(), [])
    assert sum(everything) / len(everything) < 0.2
