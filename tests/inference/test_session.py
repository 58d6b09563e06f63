"""Chats: remembered, cheap per turn, and still going when the context is full."""

import warnings

import pytest

from inference import Notice, generate
from inference.prompt import Prompt
from inference.runner import Runner
from inference.timing import Timing
from models.errors import UserError
from tests.inference.conftest import speech


def test_turns_prefill_only_what_is_new_and_answers_are_those_of_the_whole(omni, red):
    session = omni.session("be brief", max_new_tokens=10)
    questions = [
        ("hello", {}),
        ("and this?", {"image": red}),
        ("and that?", {}),
        (None, {"audio": (speech(), 16_000)}),
    ]
    whole = session.head
    unread = len(session.head)  # tokens of the context that no turn has run yet
    for text, media in questions:
        (turn,) = omni.turns([omni.take(text, **media)], session.config, 500)
        whole = whole + turn
        answer = session.ask(text, **media)
        reply = generate(omni.model, whole, session.config)  # all of it read at once
        assert answer == omni.tokenizer.decode(reply)
        assert session.last_prefill == unread + len(turn)
        whole = whole + Prompt([*reply, session.config.eos_token_id])
        cut = len(reply) == session.config.max_new_tokens  # its last token was chosen, not run
        unread = 1 + int(cut)
    assert [m["role"] for m in session.messages] == ["user", "assistant"] * 4
    session.reset()
    assert session.messages == []
    assert session.ask("hello") == omni.chat("hello", system_prompt="be brief", max_new_tokens=10)


def test_full_context_drops_oldest_turns_with_a_notice_and_goes_on(omni, red, blue):
    settings = {"max_new_tokens": 8, "max_seq_len": 160}
    session = omni.session(**settings)
    session.ask("first", image=red)
    session.ask("second", image=blue)
    with pytest.warns(Notice, match="2 oldest turn"):
        answer = session.ask("third", image=red)
    assert len(session.turns) == 1  # one would do: a quarter of the context goes at once
    kept = session.head
    for turn in session.turns[:-1]:
        kept = kept + turn.prompt + Prompt([*turn.reply, session.config.eos_token_id])
    whole = kept + session.turns[-1].prompt
    assert answer == omni.tokenizer.decode(generate(omni.model, whole, session.config))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        for _ in range(20):
            session.ask("more and more")
            assert session.generator.position <= 160
    assert "KV Cache usage:" in session.level()


def test_a_stopped_answer_is_remembered_as_far_as_it_was_read(omni):
    session = omni.session(max_new_tokens=20)
    stream = session.stream("hello")
    said = next(stream) + next(stream)
    stream.close()
    assert session.messages[-1]["content"] == said
    whole = session.head + session.turns[0].prompt + Prompt([*session.turns[0].reply, 2])
    answer = session.ask("go on")
    whole = whole + session.turns[1].prompt
    assert answer == omni.tokenizer.decode(generate(omni.model, whole, session.config))


def test_an_interrupted_step_leaves_the_session_usable(omni, monkeypatch):
    session = omni.session(max_new_tokens=6)
    session.ask("one")
    step, calls = Timing.step, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(Timing, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.ask("two")
    monkeypatch.undo()
    whole = session.head
    for turn in session.turns:
        whole = whole + turn.prompt + Prompt([*turn.reply, session.config.eos_token_id])
    answer = session.ask("three")
    whole = whole + session.turns[-1].prompt
    assert answer == omni.tokenizer.decode(generate(omni.model, whole, session.config))


def test_a_prompt_that_is_interrupted_half_read_is_read_again(omni, monkeypatch):
    session = omni.session(max_new_tokens=6, prefill_chunk=4)
    session.ask("one")
    call, calls = Runner.__call__, []

    def interrupted(self, *arguments, **more):
        calls.append(1)
        scores = call(self, *arguments, **more)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return scores

    monkeypatch.setattr(Runner, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.ask("a longer second question")
    monkeypatch.undo()
    answer = session.ask("three")
    whole = session.head
    for turn in session.turns[:-1]:
        whole = whole + turn.prompt + Prompt([*turn.reply, *session.closing])
    whole = whole + session.turns[-1].prompt
    assert session.turns[1].reply == []
    assert answer == omni.tokenizer.decode(generate(omni.model, whole, session.config))


def test_a_refused_question_changes_nothing(omni):
    session = omni.session(max_new_tokens=6)
    session.ask("one")
    before = list(session.generator.ids)
    for bad in ({}, {"image": "/no/such.png"}, {"audio": 3}):
        with pytest.raises(UserError):
            session.ask(**bad)
    assert session.generator.ids == before
    assert len(session.messages) == 2
