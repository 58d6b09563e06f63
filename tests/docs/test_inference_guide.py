"""docs/inference-guide.md: every block runs, in this process, on the shipped weights."""

import builtins
import re
import shlex
from functools import cache

import pytest

import infer_chat
from inference import Omni, manifest
from manual.chapters import ROOT, run_chapter, workbench
from manual.links import broken

PAGE = ROOT / "docs" / "inference-guide.md"
TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("python ")
    for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]
PROGRAMS = {"infer_chat.py": infer_chat.main, "-m inference.manifest": manifest.main}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A copy of the repository; each checkpoint is loaded once."""
    monkeypatch.setattr(Omni, "from_pretrained", loaded)
    with workbench(tmp_path) as folder:
        yield folder


@cache
def _loaded(folder, *settings):
    return _load(folder, *settings)


_load = Omni.from_pretrained


def loaded(folder=None, *settings):
    return _loaded(None if folder is None else ROOT / folder, *settings)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(bench, command, capsys):
    program = next(name for name in PROGRAMS if command.startswith(name))
    assert PROGRAMS[program](shlex.split(command.removeprefix(program))) == 0
    shown = capsys.readouterr()
    if "--stats" in command:
        assert re.search(r"Position: \d+ / \d+ \(\d+\.\d%\) \[OK\]\n  Remaining capacity: ", shown.err)
        assert all(part in shown.err for part in ("Prompt processing:", "LM head time:", "Sampling time:"))
    written = re.findall(r"--(?:audio_)?out (\S+)", command)
    assert all((bench / path).stat().st_size > 0 for path in written)


def test_the_conversation_runs(bench, monkeypatch, capsys):
    (typed,) = re.findall(r"```chat\n(.*?)```", TEXT, re.DOTALL)
    lines = iter(typed.splitlines())
    monkeypatch.setattr(builtins, "input", lambda _="": next(lines))
    assert infer_chat.main(["--max_new_tokens", "12"]) == 0
    shown = capsys.readouterr()
    assert "error" not in shown.err and "TIMING STATISTICS" in shown.out
    assert "temperature 0.7" in shown.out and "video_sound on" in shown.out  # /set lists all


def test_python_blocks_run(bench):
    run_chapter(PAGE, slow=True)


def test_blocks_about_adapters_run(bench):
    run_chapter(ROOT / "docs" / "adapters.md", slow=True)
    assert (bench / "build" / "thinker-fp8.safetensors").stat().st_size < 8e6


def test_every_block_is_of_a_kind_that_is_run():
    assert set(re.findall(r"^```(\w+)$", TEXT, re.MULTILINE)) == {"mermaid", "python", "bash", "chat"}
    assert len(COMMANDS) >= 12 and not broken(PAGE)
