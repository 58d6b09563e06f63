"""Chain of thought at the command line: shown where asked for, left out where not."""

import re

import pytest

import infer_chat
from inference import Omni
from inference.repl import Repl
from tests.conftest import ROOT

IMAGE = str(ROOT / "examples" / "sample_image.png")
SHOWN = re.compile(r"<think>\n.*red circle.*\n</think>\n(.+)\n$", re.DOTALL)


@pytest.fixture(scope="module")
def shipped() -> Omni:
    return Omni.from_pretrained()


def said(capsys, *flags: str) -> str:
    assert infer_chat.main(["--image", IMAGE, "--text", "What color is the star?", *flags]) == 0
    return capsys.readouterr().out


def test_thinking_is_printed_before_the_answer_where_asked_for(capsys):
    shown, hidden = said(capsys, "--show_thinking"), said(capsys)
    answer = SHOWN.fullmatch(shown)
    assert answer and answer[1] + "\n" == hidden and "<think>" not in hidden


@pytest.mark.parametrize("flag", ["--no_think", "--no_notes", "--no-think"])
def test_without_thinking_there_is_none_to_show(capsys, shipped, flag):
    direct = said(capsys, flag, "--show_thinking")
    assert "<think>" not in direct
    assert direct.strip() == shipped.chat("What color is the star?", image=IMAGE, think=False).strip()


def test_the_conversation_shows_and_hides_it(capsys, shipped):
    repl = Repl(shipped, None, {}, True, [])
    found = {}
    for switch in ("show", "hide", "off"):
        repl.handle(f"/think {switch}")
        repl.handle(f'/image "{IMAGE}"')
        capsys.readouterr()
        repl.handle("What color is the star?")
        found[switch] = bool(SHOWN.search(capsys.readouterr().out))
        repl.handle("/reset")
    assert found == {"show": True, "hide": False, "off": False}
