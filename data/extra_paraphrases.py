"""Extra paraphrases, for training alone: read from a file beside the module that has the first ones."""

from __future__ import annotations

from pathlib import Path

from models.checkpoint import read_json


def read_extra(module: str) -> dict[str, tuple[str, ...]]:
    """What `further.json` beside a module (its `__file__`) holds: paraphrases by the name of their list."""
    read = read_json(Path(module).with_name("further.json"))
    return {name: tuple(texts) for name, texts in read.items()}
