"""What is typed in capitals, with odd blanks or curly quotes reaches the model as a plain sentence."""

import pytest

from inference.prompt import UserTurn
from inference.tidied import tidied


@pytest.mark.parametrize(("typed", "read"), [
    ("WHAT IS YOUR NAME?", "What is your name?"),
    ("WHO AM I, AND WHY AM I HERE", "Who am I, and why am I here"),
    ("What  is   your\tname ?", "What is your name?"),
    (" hello\xa0there ", "hello there"),
    ("What\u2019s \u201cbig\u201d?", "What's \"big\"?"),
    ("DON\u2019T YOU KNOW ME", "Don't you know me"),
    ("NASA?", "NASA?"),
    ("What does NASA mean?", "What does NASA mean?"),
    ("I?", "I?"),
    ("1 + 1 = ?", "1 + 1 = ?"),
    ("one\ntwo", "one\ntwo"),
    ("", ""),
])
def test_text_as_it_was_typed(typed, read):
    assert tidied(typed) == read
    assert tidied(read) == read


def test_the_model_reads_the_same_ids_however_it_is_typed(omni):
    plain, shouted = (omni.phrase(UserTurn(text)) for text in ("What is your name?", "WHAT IS  YOUR NAME ?"))
    assert plain.ids == shouted.ids
