"""Word times: short gaps between words belong to the word before, pauses to none."""

import numpy as np
import pytest
import torch

from inference.word_times import FRAME_SECONDS, align_words
from models.ctc import ALPHABET, BLANK, LABELS
from tests.inference.conftest import tone


@pytest.fixture
def heard(omni, monkeypatch):
    """CTC hears a at 0.10 s, b at 0.24 s and, after a pause, c at 0.80 s."""
    frames = torch.full((1, 60, LABELS), -20.0)
    frames[..., BLANK] = -0.01
    for letter, begin in (("a", 5), ("b", 12), ("c", 40)):
        frames[0, begin : begin + 2, 1 + ALPHABET.index(letter)] = -0.01
        frames[0, begin : begin + 2, BLANK] = -20.0
    monkeypatch.setattr(omni.model.audio, "ctc_log_probs", lambda encoded: frames)
    return omni


def test_short_gaps_are_closed_and_pauses_are_kept(heard):
    samples = np.concatenate([tone(300, 1.0), np.zeros(3200, np.float32)])
    a, b, c = align_words(heard, samples, "A b, C.")
    assert [word.text for word in (a, b, c)] == ["A", "b,", "C."]
    assert [word.start / FRAME_SECONDS for word in (a, b, c)] == pytest.approx([5, 12, 40])
    assert a.end == b.start and b.end / FRAME_SECONDS == pytest.approx(14)
    assert c.end == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("silent", "begins"), [(0.12, 0.12), (0.3, 0.10)])
def test_a_word_begins_with_the_sound_but_a_faint_one_keeps_its_own_time(heard, silent, begins):
    samples = np.concatenate([np.zeros(int(silent * 16_000), np.float32), tone(300, 1.2)])
    a, b, _ = align_words(heard, samples, "A b, C.")
    assert a.start == pytest.approx(begins, abs=2e-3) and a.start < a.end <= b.start
