"""What is examined, on which data, and how much of it. It measures nothing."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.results import SEED, Figure
from inference.omni import Omni

Measured = dict[str, Figure]


@dataclass(frozen=True)
class Setting:
    """One run of evaluate.py."""

    ckpt_dir: Path
    thinker_dir: Path
    data_dir: Path
    real_dir: Path | None
    limit: int | None = None  # at most so many items of each kind of question
    memory_dir: Path = Path("checkpoints/memory_tiny")
    workers: int = os.cpu_count() or 1

    def omni(self, sense: str) -> Omni:
        """The checkpoint that is measured; a text-only one is refused."""
        omni = Omni.from_pretrained(self.ckpt_dir)
        omni.need_omni(sense)
        return omni

    def count(self, wanted: int) -> int:
        """How many items to take where `wanted` is the default."""
        return wanted if self.limit is None else min(wanted, self.limit)

    def about(self, *folders: Path) -> dict[str, Any]:
        """What the figures of a section are of."""
        return {"weights": {folder.name: weights_hash(folder) for folder in folders}, "seed": SEED}


def weights_hash(folder: Path) -> str:
    """First 12 hex digits of the SHA-256 of a checkpoint's weights."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
