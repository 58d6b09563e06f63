"""Messages of a chat as turns, without a model."""

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from pydantic import ValidationError

from serving.conversation import parse
from serving.schema import Message


def test_an_old_question_without_anything_in_it_is_left_out():
    said = [("user", ""), ("assistant", "A dog."), ("user", "And now?")]
    _, turns = parse([Message(role=role, content=text) for role, text in said], {})
    assert [turn.text for turn in turns] == ["And now?"]
    _, turns = parse([Message(role="user", content="")], {})
    assert len(turns) == 1  # the last is refused where it is read


def test_a_refusal_is_read_and_a_tools_call_is_not_passed_over():
    user = Message(role="user", content="Hi")
    _, turns = parse([user, Message(role="assistant", refusal="No."), user], {})
    assert turns[0].reply == "No."
    Message(role="assistant", content="Hi.", tool_calls=[], function_call=None)
    with pytest.raises(ValidationError, match="tool_calls"):
        Message(role="assistant", tool_calls=[{"id": "a", "type": "function"}])
