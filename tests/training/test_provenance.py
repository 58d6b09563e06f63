"""Where weights come from: the commit, and first losses held against a record's."""

import json
import subprocess
from pathlib import Path

import pytest
import torch

from training import provenance, state


def test_a_changed_checkout_is_marked_with_a_plus(tmp_path: Path, monkeypatch) -> None:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    git("init")
    (tmp_path / "code.py").write_text("a = 1\n")
    git("add", "code.py")
    git("commit", "-m", "first")
    head = git("rev-parse", "HEAD")
    (tmp_path / "notes.txt").write_text("of no account\n")
    assert provenance.commit() == head
    (tmp_path / "code.py").write_text("a = 2\n")
    assert provenance.commit() == head + "+"


def test_runs_are_as_far_apart_as_their_farthest_losses(tmp_path: Path) -> None:
    record = tmp_path / "training.json"
    record.write_text(json.dumps({"first_losses": [1.0, 2.0, 4.0, 9.0]}))
    state.write(tmp_path / state.STATE, {"x": torch.zeros(1)}, {"first_losses": [1.0, 2.0, 3.0]})
    assert provenance.apart(tmp_path, record) == (3, pytest.approx(0.25))
