"""`make demo` checks its answers: a wrong one, or a command that fails, fails it."""

import pytest

from examples import demo

TRUTHS = {title: truth for title, _, truth, _ in demo.STEPS}


@pytest.mark.parametrize(
    "answer, truth, good",
    [
        ("A dog, a yellow star and a red circle.", "dog yellow star red circle", True),
        ("A red circle, a yellow star and a dog.", "dog yellow star red circle", False),
        ("There are three.", "three", True),
        ("There are thirteen.", "three", False),
        ("", "three", False),
        ("Hello!", "", True),
    ],
)
def test_an_answer_holds_the_words_of_the_truth_in_order(answer, truth, good):
    assert demo.right(answer, truth) is good


@pytest.mark.parametrize("said", [None, "I do not know.", ""])
@pytest.mark.parametrize("title", [title for title, truth in TRUTHS.items() if truth])
def test_one_wrong_answer_fails_the_demo(monkeypatch, capsys, title, said):
    monkeypatch.setattr("sys.argv", ["demo"])
    monkeypatch.setattr(demo, "run", lambda step, _: TRUTHS[step] if step != title else said)
    assert demo.main() == 1
    assert f"1 of {len(TRUTHS)} failed: {title}" in capsys.readouterr().err


def test_right_answers_pass(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["demo"])
    monkeypatch.setattr(demo, "run", lambda step, _: TRUTHS[step])
    assert demo.main() == 0 and f"All {len(TRUTHS)} worked" in capsys.readouterr().out
