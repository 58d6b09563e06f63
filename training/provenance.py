"""Where weights come from: the sittings of a run, and the record that is saved beside its weights.

A run that is stopped and goes on has several sittings; each says from which step, at which commit and
on which machine. Knows nothing of what is trained.

    python -m training.provenance runs/tiny/thinker checkpoints/omni_sft_tiny/training/thinker.json

holds the first losses of a run against those of a record, and ends with 1 where they are apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from models.errors import Parser, UserError, one_line_errors
from models.processor import machine
from training import state
from training.distributed import World

ROOT = Path(__file__).resolve().parent.parent


def commit() -> str:
    """The checkout's commit, with a plus sign where files differ from it; "" outside of a checkout."""
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + "+" * bool(git("status", "--porcelain", "-uno"))
    except (OSError, subprocess.CalledProcessError):
        return ""


def with_sitting(before: list[dict], step: int, device: torch.device) -> list[dict[str, Any]]:
    """The sittings so far and this one, unless it is as the last."""
    here = {"commit": commit(), "machine": machine(device), "command": " ".join(sys.argv)}
    if before and {key: before[-1].get(key) for key in here} == here:
        return before
    return [*before, {"from_step": step} | here]


def training_record(note: dict[str, Any], world: World, half: bool) -> dict[str, Any]:
    """What `final/training.json` says of how the weights came about."""
    day = "%Y-%m-%dT%H:%M:%SZ"
    return note["identity"] | {
        "steps": note["step"],
        "seconds": note["seconds"],
        "started": time.strftime(day, time.gmtime(note["started"])),
        "finished": time.strftime(day, time.gmtime()),
        "command": " ".join(sys.argv),
        "sittings": note["sittings"],
        "first_losses": note["first_losses"],
        "processes": world.size,
        "threads": torch.get_num_threads(),
        "device": world.device.type,
        "computed_in": "bfloat16" if half else "float32",
        "torch": torch.__version__,
    }


def apart(run_dir: Path, record: Path) -> tuple[int, float]:
    """How many first losses both have, and how far apart they are at most, as a share of the record's.

    Raises:
        UserError: either has none.
    """
    note = state.read_note(run_dir / state.STATE)
    if not record.is_file():
        raise UserError(f"no record at {record}")
    mine = (note or {}).get("first_losses", [])
    theirs = json.loads(record.read_text(encoding="utf-8")).get("first_losses", [])
    pairs = list(zip(mine, theirs, strict=False))
    if not pairs:
        raise UserError(f"{record if mine else run_dir} tells no first losses")
    return len(pairs), max(abs(a - b) / abs(b) for a, b in pairs)


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(description="Hold a run's first losses against a record's.")
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("record", type=Path, help="training/<stage>.json of a checkpoint")
    parser.add_argument("--within", type=float, default=0.02, help="share that is noise of another machine")
    args = parser.parse_args(argv)
    count, far = apart(args.run, args.record)
    print(f"{count} losses, at most {100 * far:.3g} % apart")
    return int(far > args.within)


if __name__ == "__main__":
    sys.exit(main())
