"""Sharing the machine: speech and a text answer while other processes keep every core busy, against idle.

Our programs compute in one thread. With more, those that wait may sleep (OMP_WAIT_POLICY=passive) or spin
(active). `fair` is what an even share of the cores would cost: as many busy processes as cores halve them.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.contestants import ROOT
from inference.omni import Omni

SPOKEN = "The quick brown fox jumps over the lazy dog."
ASKED = "What is a dog?"
CORES = os.cpu_count() or 1
WAYS = {  # what the environment says of threads
    "one thread": {},  # as the entry points set it
    "asleep": {"OMP_NUM_THREADS": str(CORES), "OMP_WAIT_POLICY": "passive"},
    "spinning": {"OMP_NUM_THREADS": str(CORES), "OMP_WAIT_POLICY": "active"},
}
FAIR = 2.0  # times as long with half of the cores


def bench_share(omni: Omni, rounds: int, tokens: int) -> dict:
    """Seconds of each request by way, idle and busy, and ratios to idle as our programs compute."""
    with TemporaryDirectory() as place:
        requests = {
            "speech": ["--say", SPOKEN, "--audio_out", str(Path(place) / "a.wav")],
            "text": ["--text", ASKED, "--max_new_tokens", str(tokens)],
        }
        seconds: dict[tuple, list[float]] = {}
        for _ in range(rounds):
            for (what, flags), way, busy in product(requests.items(), WAYS, (False, True)):
                command = [str(ROOT / "infer_chat.py"), *flags, "--ckpt_dir", str(omni.folder), "--quiet"]
                with spinning(CORES if busy else 0):
                    seconds.setdefault((what, way, busy), []).append(timed(command, WAYS[way]))
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    found = {}
    for (what, way, busy), value in medians.items():
        figures = {"seconds": value, "ratio": value / medians[what, "one thread", False]}
        if busy:
            figures["to_fair"] = value / medians[what, way, False] / FAIR
        found[f"{what}, {way}, {'busy' if busy else 'idle'}"] = figures
    return found


def timed(command: list[str], way: dict[str, str]) -> float:
    """Seconds that a Python with these arguments takes."""
    start = perf_counter()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")} | way
    subprocess.run([sys.executable, *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that keep a core busy each."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
