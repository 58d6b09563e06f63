"""Speed and memory on this machine, side by side: every figure as a median and as a ratio.

    python benchmark.py cache decode uncached speculative --out build/benchmark.json
    python benchmark.py context batch --results docs/results.json  # tables, plots: evaluate.py tables

Contestants take turns, so that a busy moment of the machine meets all of them. The benches are in
`benchmarks/`. Quality belongs to evaluate.py, except what a cache kind costs in bits per byte, which
means nothing without its bytes.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as the programs that are measured
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

import sys
from pathlib import Path

import torch

from benchmarks.caches import bench_cache, save_caches
from benchmarks.decoding import bench_decode, bench_uncached
from benchmarks.growth import bench_batch, bench_context
from benchmarks.llama import bench_llama
from benchmarks.memory import bench_memory
from benchmarks.plans import bench_plans
from benchmarks.quantisers import bench_quantise
from benchmarks.reading import bench_prefill
from benchmarks.realtime import bench_realtime
from benchmarks.routers import bench_routers
from benchmarks.serving import bench_serve
from benchmarks.share import bench_share
from benchmarks.speculation import bench_speculative
from benchmarks.start import bench_start
from evaluation.results import read_results
from evaluation.setting import weights_hash
from evaluation.speeds import save_speeds
from inference.omni import Omni
from inference.output import check_path
from models.checkpoint import write_json
from models.errors import Parser, UserError, one_line_errors

BENCHES = {
    "cache": bench_cache,
    "decode": bench_decode,
    "prefill": bench_prefill,
    "llama": bench_llama,
    "context": bench_context,
    "batch": bench_batch,
    "memory": bench_memory,
    "plans": bench_plans,
    "uncached": bench_uncached,
    "speculative": bench_speculative,
    "start": bench_start,
    "routers": bench_routers,
    "quantise": bench_quantise,
    "serve": bench_serve,
    "share": bench_share,
    "realtime": bench_realtime,
}
FP32 = {"serve", "realtime", "start", "share"}  # they start programs, which compute in fp32
OPTIONAL = {"serve", "realtime", "routers", "quantise", "share"}  # run where named: own options


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code."""
    parser = Parser("benchmark.py", description=__doc__)
    parser.add_argument(
        "what", nargs="*", metavar="WHAT",
        help=f"any of {' '.join(BENCHES)}; default: all but {', '.join(sorted(OPTIONAL))}",
    )
    parser.add_argument("--ckpt_dir", help="default: the shipped omni checkpoint")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "int8"], default="fp32")
    parser.add_argument("--rounds", type=int, default=5, help="the median counts")
    parser.add_argument("--tokens", type=int, default=64, help="decoded in each run")
    parser.add_argument("--out", type=Path, help="JSON; default: only print")
    parser.add_argument("--results", type=Path, help="results.json to renew")
    args = parser.parse_args(argv)
    if unknown := set(args.what) - set(BENCHES):
        raise UserError(f"unknown {', '.join(sorted(unknown))}: there are {', '.join(BENCHES)}")
    if min(args.rounds, args.tokens) < 1:
        raise UserError("--rounds and --tokens must be at least 1")
    chosen = args.what or [name for name in BENCHES if name not in OPTIONAL]
    if args.dtype != "fp32" and (fixed := FP32.intersection(chosen)):
        raise UserError(f"--dtype does not go with {', '.join(sorted(fixed))}, which start a program anew")
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
    for path in filter(None, (args.out, args.results)):  # before hours of work
        check_path(path, (".json",), "figures")
    if args.results:
        read_results(args.results)
    omni = Omni.from_pretrained(args.ckpt_dir, dtype=args.dtype)
    results = {"weights": weights_hash(Path(omni.folder)), "threads": torch.get_num_threads()}
    results |= {"dtype": args.dtype, "rounds": args.rounds, "tokens": args.tokens}
    for name in chosen:
        results[name] = BENCHES[name](omni, args.rounds, args.tokens)
        for row, figures in results[name].items():
            shown = [f"{k} {v:.4g}" for k, v in figures.items()]
            print(f"{name:12} {row:22} {', '.join(shown)}", flush=True)
    if args.out:
        write_json(args.out, results)
    if args.results:
        if "cache" in results:
            save_caches(args.results, omni, results["cache"])
        save_speeds(args.results, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
