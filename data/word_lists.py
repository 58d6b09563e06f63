"""Word lists: JSON files beside the modules that draw from them.

`further.json` holds more paraphrases for training alone, by the name of the list that they extend.
"""

from __future__ import annotations

import json
from pathlib import Path


def read_lists(module: str, name: str):
    """What `NAME.json` beside a module (its `__file__`) holds, every list as a tuple."""
    return _frozen(json.loads(Path(module).with_name(f"{name}.json").read_text(encoding="utf-8")))


def _frozen(value):
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
