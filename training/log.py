"""A run's record: `log.jsonl`, TensorBoard events and the loss picture. Written by one process.

Refuses to keep entries of steps that a resumed run will make again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from models.errors import needed
from models.files import replacing


class Sums:
    """Adds up what slices report between two log lines."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[Any, Any]] = {}

    def add(self, name: str, value: Any, count: Any) -> None:
        """Adds a (sum, count); both may be 0-d tensors, which are not read yet."""
        total, n = self.values.get(name, (0.0, 0.0))
        self.values[name] = (total + value, n + count)

    def numbers(self) -> dict[str, tuple[float, float]]:
        """Reads the tensors and starts afresh."""
        numbers = {k: (float(total), float(n)) for k, (total, n) in self.values.items()}
        self.values = {}
        return numbers


def means(parts: list[dict[str, tuple[float, float]]]) -> dict[str, float]:
    """The means over all processes' sums."""
    merged: dict[str, list[float]] = {}
    for part in parts:
        for name, (total, n) in part.items():
            pair = merged.setdefault(name, [0.0, 0.0])
            pair[0] += total
            pair[1] += n
    return {name: total / n for name, (total, n) in merged.items() if n}


class RunLog:
    """Writes the record of one run, from `step` on."""

    def __init__(self, run_dir: Path, step: int) -> None:
        # Imported late: TensorBoard takes seconds to import and only this process needs it.
        needed("tensorboard", "the log of a run", "-r requirements-dev.txt")
        from torch.utils.tensorboard import SummaryWriter

        self.run_dir = run_dir
        self.path = run_dir / "log.jsonl"
        kept = [entry for entry in read_log(self.path) if entry["step"] <= step]
        with replacing(self.path) as temporary:
            temporary.write_text("".join(json.dumps(e) + "\n" for e in kept), encoding="utf-8")
        self.file = self.path.open("a", encoding="utf-8")
        self.board = SummaryWriter(str(run_dir / "tensorboard"), purge_step=step + 1)

    def write(self, step: int, kind: str, values: dict[str, float]) -> None:
        """One line: `kind` is train or dev."""
        entry = {"step": step, "kind": kind} | values
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        for name, value in values.items():
            self.board.add_scalar(f"{kind}/{name}", value, step)

    def close(self) -> None:
        """Draws `loss.png` and closes the files."""
        self.file.close()
        self.board.close()
        draw_loss(self.run_dir / "loss.png", read_log(self.path))


def draw_loss(path: Path, entries: list[dict[str, Any]]) -> None:
    """The losses of a log as curves."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.subplots()
    for kind in ("train", "dev"):
        points = [(e["step"], e["loss"]) for e in entries if e["kind"] == kind and "loss" in e]
        axes.plot(*zip(*points), label=kind) if points else None
    axes.set(xlabel="step", ylabel="loss", title=path.parent.name)
    axes.legend()
    with replacing(path) as temporary:
        figure.savefig(temporary)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The entries of a log; a line cut short by a killed run is left out."""
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entries.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return entries
