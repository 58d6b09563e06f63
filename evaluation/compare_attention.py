"""Standard and decoupled attention side by side: the Thinker trained both ways, cache and dev loss.

    python -m evaluation.compare_attention --preset nano --steps 300

Writes section `attention` of docs/results.json; `python evaluate.py tables` shows it. Beside decoupled
attention with half the cache trains a standard Thinker whose heads are halved: as small a cache, got
the plain way. Runs are kept and resumed like any other.
"""

from __future__ import annotations

import os
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from evaluation.results import Figure, save_section
from models.errors import Parser, UserError, one_line_errors
from models.thinker import Thinker
from training import distributed
from training.config import identity, load_preset
from training.cpu import tune
from training.loop import Trainer, seed_all
from training.objective import Paths
from training.objectives import thinker as stage
from training.stage import finished

ROOT = Path(__file__).resolve().parent.parent
KIND = "bf16"  # of the cache whose bytes are given
ROWS = 128  # of the dev stream


def contestants(head_dim: int) -> dict[str, dict[str, Any]]:
    """Changes of the preset's model; all but the first keep half of its numbers a token."""
    parts = {"semantic_dim": head_dim // 4, "geometric_dim": head_dim // 4}
    return {
        "standard": {},
        "narrow": {"head_dim": head_dim // 2},
        "dba": {"attention": "dba", "value_dim": head_dim // 2} | parts,
    }


def train(
    section: dict[str, Any], preset: str, seed: int, paths: Paths, run_dir: Path, world
) -> dict[str, float]:
    """One run, trained unless it is there -> its dev loss, cache and size."""
    who = identity("thinker", preset, seed, section)
    seed_all(seed, 0, 0)
    objective = stage.build(section | {"seed": seed, "preset": preset, "workers": 1}, paths)
    run_dir.mkdir(parents=True, exist_ok=True)
    if not finished(run_dir, who):
        Trainer(objective, who, run_dir, world).run()
    thinker = Thinker.from_pretrained(run_dir / "final")
    objective.model.thinker = thinker
    objective.model.eval()
    rows = objective.rows("dev", range(ROWS), seed=0)  # (ROWS, T + 1)
    with torch.inference_mode():
        losses = [objective.model(part) for part in rows.split(16)]
    return {
        "loss": float(sum(x.total for x in losses)) / sum(x.weight for x in losses),
        "bytes": thinker.new_cache(1, 1, KIND).nbytes,
        "parameters": sum(weight.numel() for weight in thinker.parameters()),
    }


def figures(name: str, runs: list[dict[str, float]]) -> dict[str, Figure]:
    """Mean, lowest and highest loss of the seeds; bytes and parameters are the same in all."""
    losses, n = [run["loss"] for run in runs], len(runs)
    found = {f"{name}/loss": Figure(sum(losses) / n, min(losses), max(losses), n, 0, "nats")}
    for key in ("bytes", "parameters"):
        found[f"{name}/{key}"] = Figure(runs[0][key], None, None, n, 0, "count")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Train what is missing, measure all, write."""
    parser = Parser("python -m evaluation.compare_attention")
    parser.add_argument("--preset", default="nano", help="whose Thinker is trained both ways")
    parser.add_argument("--steps", type=int, help="instead of the preset's")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the CPU")
    parser.add_argument("--data_dir", type=Path, help="generated data (build/data/PRESET)")
    parser.add_argument("--runs_dir", type=Path, help="training runs (runs/PRESET)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "results.json", help="the figures' file"
    )
    args = parser.parse_args(arguments)
    if args.seeds < 1:
        raise UserError(f"--seeds must be at least 1, not {args.seeds}")
    preset = load_preset(args.preset)["thinker"]
    if args.steps:
        preset["train"]["steps"] = args.steps
    tune(args.threads)
    world = distributed.start("cpu")
    paths = Paths.of(args.preset, args.data_dir, args.runs_dir)
    if not (paths.data / "corpus" / "meta.json").exists():
        raise UserError(f"{paths.data} has no corpus: run `python train.py thinker` first")
    found: dict[str, Figure] = {}
    for name, changes in contestants(preset["model"]["head_dim"]).items():
        section = deepcopy(preset)
        section["model"] |= changes
        runs = [
            train(section, args.preset, seed, paths, paths.runs / "attention" / f"{name}-{seed}", world)
            for seed in range(args.seeds)
        ]
        found |= figures(name, runs)
        print(f"{name:9} loss {found[f'{name}/loss'].value:.4f}, {runs[0]['bytes']} bytes a token")
    about = {"preset": args.preset, "steps": preset["train"]["steps"], "cache_kind": KIND}
    save_section(args.out, "attention", about, found)


if __name__ == "__main__":
    try:
        sys.exit(one_line_errors(main)())
    finally:
        distributed.stop()
