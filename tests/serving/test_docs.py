"""The examples of docs/serving.md run as they stand."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

ROOT = Path(__file__).resolve().parents[2]
RUN = {  # how each language is run
    "bash": ("bash", "-c"),
    "python": (sys.executable, "-c"),
    "javascript": ("node", "--input-type=module", "-e"),
}


@pytest.fixture(scope="module")
def address():
    command = [sys.executable, "serve.py", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://[^/]+", server.stdout.readline()).group(0)
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.parametrize("language", RUN)
def test_examples_run(address, language, tmp_path):
    program = {"bash": "curl", "javascript": "node"}.get(language, sys.executable)
    if not shutil.which(program):
        pytest.skip(f"no {program} on this machine")
    text = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    shutil.copy(ROOT / "examples/question.wav", tmp_path / "speech.wav")
    for block in blocks:
        code = block.replace("http://127.0.0.1:8000", address)
        run = subprocess.run([*RUN[language], code], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert "animal" in run.stdout.replace("\n", "")
    if language == "python":
        assert (tmp_path / "hello.mp3").stat().st_size > 1000
