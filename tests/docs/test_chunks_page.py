"""Every block of docs/chunks.md runs: Python as it stands, commands with a folder for their placeholders."""

import re
import shlex

import pytest

import infer_chat
from export import chunks
from manual.chapters import ROOT, run_chapter, workbench
from manual.links import broken

for name in ("onnx", "onnxruntime", "coremltools"):
    pytest.importorskip(name, reason="needs pip install -r requirements-chunks.txt")

PAGE = ROOT / "docs" / "chunks.md"


def test_python_blocks_run(tmp_path):
    with workbench(tmp_path):
        printed = list(run_chapter(PAGE, slow=False).values())
    assert len(printed) == 2 and printed[0].strip() and "KV Cache" in printed[1]
    assert not broken(PAGE)


def test_commands_run(tmp_path, nano_text_dir, capsys):
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    places = {"FOLDER_OF_A_DENSE_QWEN3": str(nano_text_dir), "DIR": str(tmp_path / "DIR")}
    places["chunks"] = str(tmp_path / "chunks")
    assert len(lines) == 5
    for line in lines:
        words = shlex.split(line)
        if words[0] == "pip":
            assert (ROOT / words[-1]).is_file()
            continue
        own = places | ({"4": "2"} if "FOLDER_OF_A_DENSE_QWEN3" in words else {})  # it has two layers
        words = [own.get(word, word) for word in words]
        command = chunks.main if words[1] == "-m" else infer_chat.main
        assert command(words[3:] if words[1] == "-m" else words[2:]) == 0, line
    assert "A dog is" in capsys.readouterr().out
