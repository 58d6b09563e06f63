"""A table of guesses: what it counts, and that it is kept."""

import pytest

from inference.speculative.table import DraftTable
from models.errors import UserError

TEXTS = [([1, 7, 8, 9, 2], [0, 0, 1, 1, 1])] * 3 + [([1, 5, 8, 6, 2], [0, 0, 1, 1, 1])] * 2


def test_guesses_what_followed_the_longest_known_context():
    table = DraftTable.count(TEXTS)
    assert table.guess([1, 7], 8) == [8, 9, 2]
    assert table.guess([1, 5], 8) == [8, 6, 2]  # after 8 alone, 9 is the more frequent
    assert table.guess([8], 8) == [9, 2]
    assert table.guess([1, 7], 2) == [8, 9]


def test_says_nothing_where_it_is_not_sure():
    many = [([1, token, 2], [0, 1, 1]) for token in range(10, 20)] * 2
    assert DraftTable.count(many).guess([1], 8) == []
    assert DraftTable.count(TEXTS).guess([1], 8) == []  # a question's token is never guessed


def test_a_file_of_it_guesses_the_same(tmp_path):
    table = DraftTable.count(TEXTS)
    table.save(tmp_path / "table.safetensors")
    assert DraftTable.load(tmp_path / "table.safetensors").tables == table.tables
    with pytest.raises(UserError, match="export.draft_table"):
        DraftTable.load(tmp_path / "none.safetensors")
