"""An answer that claims more than is right, or something else, is wrong."""

import pytest

from data.scenes.scoring import score

THING = {"question": "What is this?", "answer": "A red circle.", "accept": ["red circle", "circle"]}


@pytest.mark.parametrize(
    ("kind", "right", "answer", "scored"),
    [
        ("color", "Red.", "It is red.", True),
        ("color", "Red.", "Red and blue.", False),
        ("color", "Gray.", "Grey.", True),
        ("read", "Stop.", "The sign says stop.", True),
        ("read", "Stop.", "It says stop here.", False),
        ("read", "Cat.", "It says scat.", False),
        ("read", "No.", "No.", True),
        ("exists", "Yes.", "Yes, there is.", True),
        ("exists", "Yes.", "No, yes.", False),
        ("count", "Two.", "There are 2.", True),
        ("count", "Two.", "Three, not two.", False),
        ("where", "Top left.", "Top left and bottom right.", False),
        ("where", "Left.", "In the middle left.", True),
        ("change", "The red circle turns blue.", "It turns blue.", False),
        ("change", "The red circle turns blue.", "The circle turns green.", False),
        ("change", "The red circle turns blue.", "The red circle becomes blue.", True),
        ("change", "Nothing changes.", "Nothing.", True),
        ("which", "The first.", "The first picture has a dog.", True),
        ("which", "The first.", "Picture 1.", True),
        ("which", "The first.", "The second.", False),
        ("which", "Both.", "The first and the second.", True),
        ("which", "Both.", "The first.", False),
        ("which", "Neither.", "None of them.", True),
        ("difference", "The dog is missing in the second picture.", "The dog is gone.", True),
        ("difference", "The dog is missing in the second picture.", "The cat is missing.", False),
        ("difference", "The dog is bigger in the second picture.", "The dog is smaller.", False),
        ("difference", "Nothing is different.", "They are the same.", True),
        ("difference", "The star is red in the first picture and blue in the second.",
         "The star is red in the first picture and green in the second.", False),
    ],
)
def test_what_is_claimed(kind, right, answer, scored):
    assert score(answer, {"kind": kind, "answer": right}) is scored


@pytest.mark.parametrize(
    ("answer", "scored"), [("The circle.", True), ("A blue circle.", False), ("", False)]
)
def test_a_wrong_colour_is_a_wrong_thing(answer, scored):
    assert score(answer, THING | {"kind": "what"}) is scored


MISSING = "The dog is missing in the second picture."
RED = "The circle is red in the first picture and blue in the second."


@pytest.mark.parametrize(
    ("right", "answer", "scored"),
    [
        (MISSING, "The dog is gone.", True),
        (MISSING, "The dog of the first picture is missing in the second.", True),
        (MISSING, "The dog is missing in the first picture.", False),
        (MISSING, "The dog is missing in the second picture, as the cat is.", False),
        ("The second picture also has a dog.", "The first picture also has a dog.", False),
        ("The dog is bigger in the second picture.", "The dog is bigger in the first picture.", False),
        (RED, "The circle is blue in the second picture and red in the first.", True),
        (RED, "The circle is blue in the first picture and red in the second.", False),
        (RED, "The circle is red, then blue.", True),
        (RED, "The circle is blue, then red.", False),
        (RED, "The circle is red in the first picture.", False),
        ("Nothing is different.", "The second is the same as the first.", True),
    ],
)
def test_the_picture_of_a_difference_counts(right, answer, scored):
    assert score(answer, {"kind": "difference", "answer": right}) is scored


@pytest.mark.parametrize("answer", ["Neither.", "Neither one.", "None of them.", "Neither picture."])
def test_neither_picture_is_said_in_several_ways(answer):
    assert score(answer, {"kind": "which", "answer": "Neither."})
    assert not score(answer, {"kind": "which", "answer": "The first."})
