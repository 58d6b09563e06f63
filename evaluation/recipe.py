"""What the recipe took: steps, hours and sittings of each stage, off the records beside the weights."""

from __future__ import annotations

import json

from evaluation.results import Figure
from evaluation.setting import Measured, Setting
from models.errors import UserError
from training.objective import STAGES


def measure(setting: Setting) -> Measured:
    """Figures `<stage>/steps`, `/hours` and `/sittings`, and the hours of all.

    Raises:
        UserError: a stage's record is missing.
    """
    figures = {}
    for stage in STAGES:
        path = setting.ckpt_dir / "training" / f"{stage}.json"
        if not path.is_file():
            raise UserError(f"no record at {path}: `python -m training.export` writes it")
        record = json.loads(path.read_text(encoding="utf-8"))
        if "steps" in record:  # the tokenizer takes none
            figures[f"{stage}/hours"] = one(record["seconds"] / 3600, "hours", record)
            figures[f"{stage}/steps"] = one(record["steps"], "count", record)
            figures[f"{stage}/sittings"] = one(len(record["sittings"]), "count", record)
    hours = sum(figure.value for name, figure in figures.items() if name.endswith("/hours"))
    return figures | {"all/hours": one(hours, "hours", record)}


def one(value: float, unit: str, record: dict) -> Figure:
    """A figure of one run."""
    return Figure(value, None, None, 1, record["seed"], unit)
