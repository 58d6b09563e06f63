"""A run that is killed, stopped or lengthened ends with the weights of one that was not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from models.errors import UserError
from tests.training.toy import ToyObjective, toy_identity
from training import provenance, state
from training.distributed import World
from training.log import read_log
from training.loop import Stopped, Trainer, seed_all
from training.provenance import commit

ROOT = Path(__file__).resolve().parents[2]
STEPS = 40


def train(folder: Path, steps: int = STEPS, **settings: object) -> dict[str, torch.Tensor]:
    """Trains (or goes on) in this process; the final weights."""
    folder.mkdir(parents=True, exist_ok=True)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    seed_all(0, 0, 0)
    Trainer(ToyObjective(6), toy_identity(steps, **settings), folder, World()).run()
    torch.set_num_threads(threads)
    return load_file(folder / "final" / "model.safetensors")


def launch(folder: Path, *settings: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.training.toy", str(folder), str(STEPS), *settings]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip


def wait_for_step(folder: Path, step: int) -> None:
    """Until the run has logged `step`."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        entries = read_log(folder / "log.jsonl")
        if entries and entries[-1]["step"] >= step:
            return
        time.sleep(0.02)
    raise AssertionError(f"no step {step} within a minute")


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]), name


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    return train(tmp_path_factory.mktemp("unbroken"))


def test_killed_and_resumed_equals_unbroken(tmp_path: Path, unbroken: dict) -> None:
    process = launch(tmp_path, "pause=0.05", "checkpoint_minutes=0.001")
    wait_for_step(tmp_path, 15)
    process.kill()
    process.wait()
    assert not (tmp_path / "final").exists()
    assert (tmp_path / "state.safetensors").exists()
    assert_same(train(tmp_path, checkpoint_minutes=0.001), unbroken)
    steps = [e["step"] for e in read_log(tmp_path / "log.jsonl") if e["kind"] == "train"]
    assert steps == list(range(5, STEPS + 1, 5))  # none twice


def test_sigterm_saves_at_once(tmp_path: Path, unbroken: dict) -> None:
    process = launch(tmp_path, "pause=0.05")
    wait_for_step(tmp_path, 10)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 143
    assert "state saved" in json.loads(out)["stopped"]
    assert state.read_note(tmp_path / "state.safetensors")["step"] >= 10
    assert_same(train(tmp_path), unbroken)


def test_longer_run_ends_as_if_asked_at_first(tmp_path: Path, unbroken: dict) -> None:
    train(tmp_path, steps=30)  # decays from step 21 on
    assert_same(train(tmp_path, steps=STEPS), unbroken)
    record = json.loads((tmp_path / "final" / "training.json").read_text())
    assert record["steps"] == STEPS
    assert record["seconds"] > 0


def test_a_run_stopped_where_its_decay_begins_goes_on_longer(tmp_path: Path, unbroken: dict) -> None:
    train(tmp_path, steps=30)
    (tmp_path / "state_stable.safetensors").rename(tmp_path / "state.safetensors")  # as if stopped at 21
    shutil.rmtree(tmp_path / "final")
    train(tmp_path, steps=30)
    assert_same(train(tmp_path, steps=STEPS), unbroken)


def test_the_record_tells_each_sitting(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("training.provenance.commit", lambda: "first")
    train(tmp_path, steps=30)
    train(tmp_path, steps=31)
    monkeypatch.setattr("training.provenance.commit", lambda: "second")
    train(tmp_path, steps=STEPS)
    record = json.loads((tmp_path / "final" / "training.json").read_text())
    told = [(sitting["commit"], sitting["from_step"]) for sitting in record["sittings"]]
    assert told == [("first", 0), ("second", 22)]
    assert all("cores" in sitting["machine"] for sitting in record["sittings"])
    assert all(sitting["command"] == " ".join(sys.argv) for sitting in record["sittings"])


def test_first_losses_are_recorded_and_held_against_a_record(tmp_path: Path, capsys) -> None:
    train(tmp_path / "one", steps=12)
    train(tmp_path / "one", steps=30)
    train(tmp_path / "two", steps=30, accumulate=3)  # the same batch in three parts: the noise is another
    record = tmp_path / "one" / "final" / "training.json"
    assert len(json.loads(record.read_text())["first_losses"]) == 20
    assert provenance.main([str(tmp_path / "one"), str(record)]) == 0
    assert "20 losses, at most 0 % apart" in capsys.readouterr().out
    assert provenance.main([str(tmp_path / "two"), str(record)]) == 1
    assert provenance.main([str(tmp_path), str(record)]) == 2


def test_a_commit_is_that_of_the_checkout() -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode:
        pytest.skip("not a git checkout")
    assert commit().rstrip("+") == head.stdout.strip()


def test_prefetch_changes_nothing(tmp_path: Path, unbroken: dict) -> None:
    assert_same(train(tmp_path, prefetch=2), unbroken)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    train(tmp_path, steps=10)
    with pytest.raises(UserError, match=r"train.lr was 0.01, is 0.02.*--restart"):
        train(tmp_path, steps=20, lr=0.02)
    with pytest.raises(UserError, match="at step 10 already"):
        train(tmp_path, steps=5)


def test_damaged_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.safetensors").write_bytes(b"\x80\x04not a safetensors file")
    with pytest.raises(UserError, match="not a training state"):
        train(tmp_path)


def test_infinite_loss_stops_the_run(tmp_path: Path) -> None:
    objective = ToyObjective(6)
    with torch.no_grad():
        objective.model.head.bias.fill_(float("inf"))
    with pytest.raises(UserError, match="gradient is not finite"):
        Trainer(objective, toy_identity(10), tmp_path, World()).run()
    assert not (tmp_path / "final").exists()


def test_stopped_is_not_an_error_of_the_user() -> None:
    assert not issubclass(Stopped, UserError)


def test_run_leaves_its_record(tmp_path: Path) -> None:
    train(tmp_path, steps=20)
    entries = read_log(tmp_path / "log.jsonl")
    assert {e["kind"] for e in entries} == {"train", "dev"}
    first, last = (e["loss"] for e in (entries[0], entries[-1]))
    assert last < first
    assert (tmp_path / "loss.png").stat().st_size > 1000
    assert list((tmp_path / "tensorboard").iterdir())
