"""Voice activity: each clip is judged alone, short words count, quiet ones are raised, on one thread."""

import ctypes

import numpy as np
import pytest

from inference import vad
from inference.vad import at_level, has_speech, one_thread, probabilities
from tests.inference.conftest import speech, tone


def test_a_clip_is_judged_alike_after_another():
    wave = speech()
    first = list(probabilities(wave))
    list(probabilities(tone(300, 1.0)))
    assert list(probabilities(wave)) == first


@pytest.mark.parametrize(
    ("seconds", "surest", "heard"), [(0.5, 0.8, True), (0.5, 0.65, False), (2.0, 0.8, False)]
)
def test_one_chunk_is_enough_of_a_short_clip(seconds, surest, heard, monkeypatch):
    monkeypatch.setattr(vad, "probabilities", lambda wave: iter([0.1] * 4 + [surest] + [0.1] * 4))
    noise = np.random.default_rng(0).normal(0, 0.1, int(seconds * 16_000)).astype(np.float32)
    assert has_speech(noise) is heard


def test_quiet_speech_is_brought_to_a_tenth_of_full_scale():
    for gain in 1.0, 1e-2, 1e-4:
        frames = at_level(gain * speech(seconds=2.0)).reshape(-1, vad.FRAME)
        assert np.percentile(np.sqrt((frames**2).mean(axis=1)), 95) == pytest.approx(0.1, rel=0.02)


def test_silero_runs_on_one_thread(monkeypatch):
    openmp = ctypes.CDLL(None)
    if not hasattr(openmp, "omp_get_max_active_levels"):
        pytest.skip("no OpenMP here")
    levels, seen = openmp.omp_get_max_active_levels(), []
    assert levels > 0

    def spied(wave):
        seen.append(openmp.omp_get_max_active_levels())
        return iter([0.9] * 9)

    monkeypatch.setattr(vad, "probabilities", spied)
    has_speech(speech())
    assert seen == [0] and openmp.omp_get_max_active_levels() == levels
    with pytest.raises(KeyboardInterrupt), one_thread():
        raise KeyboardInterrupt
    assert openmp.omp_get_max_active_levels() == levels
