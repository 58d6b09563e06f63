"""Messages of a chat as turns, without a model."""

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from serving.conversation import parse
from serving.schema import Message


def test_an_old_question_without_anything_in_it_is_left_out():
    said = [("user", ""), ("assistant", "A dog."), ("user", "And now?")]
    _, turns = parse([Message(role=role, content=text) for role, text in said], {})
    assert [turn.text for turn in turns] == ["And now?"]
    _, turns = parse([Message(role="user", content="")], {})
    assert len(turns) == 1  # the last is refused where it is read
