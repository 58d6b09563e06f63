"""Sharing the machine: speech and a text answer while other processes keep every core busy, against idle.

Threads that wait may sleep (OMP_WAIT_POLICY=passive, as the entry points set it) or spin (active).
`fair` is what an even share of the cores would cost: as many busy processes as cores halve them.
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
POLICIES = ("passive", "active")
FAIR = 2.0  # times as long with half of the cores


def bench_share(omni: Omni, rounds: int, tokens: int) -> dict:
    """Seconds of each request by policy, idle and busy, and ratios to idle with the policy we set."""
    with TemporaryDirectory() as place:
        requests = {
            "speech": ["--say", SPOKEN, "--audio_out", str(Path(place) / "a.wav")],
            "text": ["--text", ASKED, "--max_new_tokens", str(tokens)],
        }
        seconds: dict[tuple, list[float]] = {}
        for _ in range(rounds):
            for (what, flags), policy, busy in product(requests.items(), POLICIES, (False, True)):
                command = [str(ROOT / "infer_chat.py"), *flags, "--ckpt_dir", str(omni.folder), "--quiet"]
                with spinning((os.cpu_count() or 1) if busy else 0):
                    seconds.setdefault((what, policy, busy), []).append(timed(command, policy))
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    found = {}
    for (what, policy, busy), value in medians.items():
        figures = {"seconds": value, "ratio": value / medians[what, POLICIES[0], False]}
        if busy:
            figures["to_fair"] = value / medians[what, policy, False] / FAIR
        found[f"{what}, {policy}, {'busy' if busy else 'idle'}"] = figures
    return found


def timed(command: list[str], policy: str) -> float:
    """Seconds that a Python with these arguments takes."""
    start = perf_counter()
    environment = os.environ | {"OMP_WAIT_POLICY": policy}
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
