#!/usr/bin/env python3
"""Train a stage, or all of them: `python train.py all --preset nano`.

Runs are resumed where they stopped. Several processes: torchrun --nproc_per_node 2 train.py ...
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by OpenMP when torch is imported

import argparse
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from models.errors import Parser, UserError, one_line_errors
from models.lora import TARGETS, LoraConfig
from training import distributed
from training.config import PRESETS, apply_override, load_preset
from training.cpu import tune
from training.export import export
from training.loop import Stopped
from training.objective import EXTRA, STAGES, Paths
from training.stage import ADAPTED, Request, run_stage

ROOT = Path(__file__).resolve().parent
REAL = ROOT.parent / "shared" / "data"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = Parser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("stage", metavar="stage", help=f"{' '.join(STAGES)}, or all (in that order); or {' '.join(EXTRA)}")
    add("--preset", default="tiny", help=f"sizes and lengths: {' '.join(PRESETS)}")
    add("--data_dir", type=Path, help="generated data (build/data/PRESET)")
    add("--runs_dir", type=Path, help="training runs (runs/PRESET)")
    add("--real_dir", type=Path, help="real data (../shared/data when it exists)")
    add("--steps", type=int, help="training steps, instead of the preset's")
    add("--seed", type=int, default=0, help="of weights, order and generated data")
    add("--threads", type=int, default=os.cpu_count(), help="CPU threads (all)")
    add("--device", help="cpu or cuda (cuda when there is one)")
    add("--lora_rank", type=int, help="learn a LoRA adapter of this rank (stages thinker, omni)")
    add("--lora_alpha", type=float, help="its scale times its rank (twice the rank)")
    add("--lora_targets", nargs="+", help="its matrices (all of a block): q_proj k_proj v_proj …")
    add("--restart", action="store_true", help="forget an earlier run of the stage")
    add("--init_from", type=Path, help="a checkpoint to begin with (thinker, audio, omni, memory)")
    add(
        "--set", action="append", default=[], metavar="[STAGE.]SECTION.KEY=VALUE", dest="overrides",
        help="a setting of the preset, for this run; repeatable",
    )
    return parser.parse_args(arguments)


def find_paths(args: argparse.Namespace, first: bool) -> Paths:
    """Where data, runs and real data are."""
    real = args.real_dir or REAL
    if args.real_dir and not real.is_dir():
        raise UserError(f"--real_dir {real}: no such folder")
    if not real.is_dir():
        real = None
        if first:
            print("no real data (--real_dir): photographs are left out; what wants recorded speech stops")
    return Paths.of(args.preset, args.data_dir, args.runs_dir, real)


def ask_lora(args: argparse.Namespace, sections: dict) -> None:
    """Enter a LoRA adapter in the stage's settings, so that a run with one is another run."""
    if args.lora_rank is None:
        if args.lora_alpha is not None or args.lora_targets:
            raise UserError("--lora_alpha and --lora_targets go with --lora_rank")
        return
    if args.stage not in ADAPTED or args.init_from is None:
        raise UserError(f"--lora_rank goes with stage {' or '.join(ADAPTED)} and --init_from FOLDER")
    alpha = 2.0 * args.lora_rank if args.lora_alpha is None else args.lora_alpha
    lora = LoraConfig(args.lora_rank, alpha, tuple(args.lora_targets or TARGETS))
    sections[args.stage]["lora"] = asdict(lora) | {"target_modules": list(lora.target_modules)}


def main(arguments: list[str] | None = None) -> None:
    """Runs the stages asked for."""
    args = parse_arguments(arguments)
    if args.stage not in (*STAGES, *EXTRA, "all"):
        raise UserError(
            f"unknown stage '{args.stage}': choose one of {', '.join(STAGES + EXTRA)}, all"
        )
    sections = load_preset(args.preset)
    stages = list(STAGES) if args.stage == "all" else [args.stage]
    if args.init_from and args.stage == "all":
        raise UserError("--init_from goes with one stage, not with all")
    if args.init_from and not args.init_from.is_dir():
        raise UserError(f"--init_from {args.init_from}: no such folder")
    for override in args.overrides:
        apply_override(sections, stages, override)
    if args.steps is not None:
        for stage in stages:
            if "train" in sections[stage]:
                sections[stage]["train"]["steps"] = args.steps
    ask_lora(args, sections)
    if args.threads < 1 or not 0 <= args.seed < 2**63:
        raise UserError("--threads must be at least 1, and --seed between 0 and 2^63 - 1")
    tune(args.threads)
    world = distributed.start(args.device)
    paths = find_paths(args, world.first)
    workers = min(args.threads * world.size, os.cpu_count() or 1)  # the other processes wait for the data
    for stage in stages:
        run_stage(
            Request(
                stage=stage,
                preset=args.preset,
                section=sections[stage],
                paths=paths,
                seed=args.seed,
                workers=workers,
                restart=args.restart,
                init_from=args.init_from,
            ),
            world,
        )
    if args.stage == "all" and world.first:
        thinker, omni = export(paths, args.preset, paths.runs)
        print(f"written: {thinker}, {omni}")
        print(f'try it: python infer_chat.py --ckpt_dir {omni} --text "Hello"')


if __name__ == "__main__":
    try:
        sys.exit(one_line_errors(main)())
    except Stopped as stopped:
        print(f"{stopped}: run the same command to go on", file=sys.stderr)
        sys.exit(128 + signal.SIGTERM)
    finally:
        distributed.stop()
