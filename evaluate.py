#!/usr/bin/env python3
"""Measure every quality figure we claim: `python evaluate.py all`.

Figures go to docs/results.json with n, seed and 95 % interval; the tables of the documents and the
plots of docs/speed.md are made from it (`python evaluate.py tables`, `--check` only compares).
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the programs that are measured
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

import argparse
import importlib
import time
from pathlib import Path

from evaluation.plots import stale_plots, write_plots
from evaluation.results import read_results, save_section
from evaluation.setting import Setting
from evaluation.tables import stale, write
from inference.output import check_writable
from inference.source import check_file
from models.errors import Parser, UserError, one_line_errors

ROOT = Path(__file__).resolve().parent
RESULTS = ROOT / "docs" / "results.json"  # the figures of the documents
SECTIONS = (
    *("text", "vision", "audio", "long", "joint", "sounds", "interleaved"),
    *("speech", "vocoder", "normalisation", "memory", "recipe"),
)
OTHERS = ("small_world",)  # of other weights: --ckpt_dir runs/nano/omni_sft_nano


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = Parser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("section", choices=(*SECTIONS, *OTHERS, "all", "tables"), help="what to measure")
    add("--ckpt_dir", type=Path, default=ROOT / "checkpoints" / "omni_sft_tiny", help="measured")
    add("--thinker_dir", type=Path, default=ROOT / "checkpoints" / "thinker_tiny", help="beside it")
    add("--data_dir", type=Path, default=ROOT / "build" / "data" / "tiny", help="held-out data")
    add("--real_dir", type=Path, help="real data (../shared/data when it exists)")
    add("--memory_dir", type=Path, default=ROOT / "checkpoints" / "memory_tiny", help="memory bank")
    add("--limit", type=int, help="at most so many items of each set: quicker, wider intervals")
    add("--out", type=Path, default=RESULTS, help="where figures go")
    add("--check", action="store_true", help="with tables: exit 1 if a table or plot is out of date")
    return parser.parse_args(arguments)


def find_setting(args: argparse.Namespace) -> Setting:
    """What to examine; refuses folders that are not there."""
    if args.limit is not None and args.limit < 2:
        raise UserError(f"--limit must be at least 2, not {args.limit}")
    real = args.real_dir or ROOT.parent / "shared" / "data"
    if args.real_dir and not real.is_dir():
        raise UserError(f"--real_dir {real}: no such folder")
    return Setting(
        args.ckpt_dir, args.thinker_dir, args.data_dir, real if real.is_dir() else None, args.limit,
        memory_dir=args.memory_dir,
    )


def measure(section: str, setting: Setting, out: Path) -> None:
    """One section, into the file."""
    needed = [] if section == "normalisation" else [setting.ckpt_dir]  # rules have no weights
    needed += {"text": [setting.thinker_dir], "memory": [setting.memory_dir]}.get(section, [])
    for folder in needed:
        if not folder.is_dir():
            raise UserError(f"no checkpoint at {folder}: train it, or name one by --ckpt_dir")
    start = time.monotonic()
    figures = importlib.import_module(f"evaluation.{section}").measure(setting)
    save_section(out, section, setting.about(*needed), figures)
    print(f"{section}: {len(figures)} figures in {time.monotonic() - start:.0f} s -> {out}")


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status."""
    args = parse_arguments(arguments)
    if args.check and args.section != "tables":
        raise UserError("--check goes with tables")
    if args.section != "tables":
        setting = find_setting(args)
        if args.limit is not None and args.out.resolve() == RESULTS:
            raise UserError("--limit is for a quick look: name a file of its own by --out")
        args.out.parent.mkdir(parents=True, exist_ok=True)
        read_results(check_writable(args.out))  # refused before hours of work
        for section in SECTIONS if args.section == "all" else (args.section,):
            measure(section, setting, args.out)
    check_file(args.out, "results")
    results = read_results(args.out)
    if args.check:
        old = stale(ROOT, results) + stale_plots(ROOT, results)
        for path in old:
            print(f"{path} differs from {args.out}; run `python evaluate.py tables`")
        return 1 if old else 0
    if args.out.resolve() != RESULTS and args.section != "tables":
        return 0  # figures measured into another file are not those of the documents
    for path in write(ROOT, results) + write_plots(ROOT, results):
        print(f"renewed: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
