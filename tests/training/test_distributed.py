"""Two processes make the update that one makes from the same global batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from training.log import read_log

ROOT = Path(__file__).resolve().parents[2]


Weights = dict[str, torch.Tensor]


def run(folder: Path, processes: int, *settings: str) -> Weights:
    """A few steps of the toy, without dropout (whose noise is drawn for each slice)."""
    launcher = [sys.executable, "-m"]
    if processes > 1:
        launcher += ["torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        launcher += ["-m"]
    command = [*launcher, "tests.training.toy", str(folder), "5", *settings]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return load_file(folder / "final" / "model.safetensors")


def logged(folder: Path) -> dict[str, float]:
    """What the last entry of a run's log tells of its training."""
    last = [entry for entry in read_log(folder / "log.jsonl") if entry["kind"] == "train"][-1]
    return {name: last[name] for name in ("loss", "grad_norm", "close", "lr")}


def assert_close(a: Weights, b: Weights, but: str = "", atol: float = 1e-6) -> None:
    for name in a.keys() - {but}:
        torch.testing.assert_close(a[name], b[name], atol=atol, rtol=1e-5)


PLAIN = ("dropout=0.0", "optimizer=adamw")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Weights, dict[str, float]]:
    """Weights and log of one process."""
    folder = tmp_path_factory.mktemp("alone")
    return run(folder, 1, *PLAIN), logged(folder)


@pytest.fixture(scope="module")
def sliced(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    return run(tmp_path_factory.mktemp("sliced"), 1, "accumulate=2")


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_equal_one(kind: str, tmp_path: Path, alone: tuple) -> None:
    # `seen` counts the items of one process.
    assert_close(run(tmp_path, 2, *PLAIN, f"parallel={kind}"), alone[0], but="seen")
    assert logged(tmp_path) == pytest.approx(alone[1], rel=1e-4)  # AdamW forgives a gradient's scale


def test_accumulation_equals_one_batch(tmp_path: Path, alone: tuple) -> None:
    assert_close(run(tmp_path, 1, *PLAIN, "accumulate=3"), alone[0])
    assert logged(tmp_path) == pytest.approx(alone[1], rel=1e-4)


@pytest.mark.parametrize(
    ("kind", "atol"),
    [
        ("ddp", 1e-6),
        # Six items give a 16 x 16 gradient of rank 6 at most. Muon blows its other directions up,
        # which are rounding noise, and sharded sums round differently. A step moves by 2e-3.
        ("fsdp", 1e-3),
    ],
)
def test_accumulation_equals_processes(kind: str, atol: float, tmp_path: Path, sliced: dict) -> None:
    """Noise belongs to a slice, not to a process: even dropout and Muon agree."""
    assert_close(run(tmp_path, 2, f"parallel={kind}"), sliced, but="seen", atol=atol)
