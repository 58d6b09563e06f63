"""From nothing to the first character."""

import statistics
import subprocess
import sys
from time import perf_counter

from benchmarks.contestants import ROOT
from inference.omni import Omni

LOAD = """import torch, sys
from pathlib import Path
from safetensors.torch import load_file
for path in Path(sys.argv[1]).glob("*.safetensors"):
    load_file(path)
print("ready")"""


def bench_start(omni: Omni, rounds: int, tokens: int) -> dict:
    """Seconds from nothing to the first character: importing torch and reading weights, and a chat."""
    chat = [str(ROOT / "infer_chat.py"), "--text", "hi", "--quiet", "--ckpt_dir"]
    commands = {"torch + weights": ["-c", LOAD], "infer_chat.py": chat}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            seconds[name].append(first_output([*arguments, str(omni.folder)]))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    first = medians["torch + weights"]
    return {name: {"seconds": value, "ratio": value / first} for name, value in medians.items()}


def first_output(arguments: list[str]) -> float:
    """Seconds until a Python with these arguments writes its first byte."""
    start = perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        seconds = perf_counter() - start
        process.communicate()
    return seconds
