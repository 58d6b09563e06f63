"""Judging speech: whose sentences, what the figures say, and whether questions rise."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from data.speech.voices import KOKORO_TRAIN
from evaluation import codebooks, mos, said
from evaluation.hearing import Heard
from evaluation.questions import final_pitch, pairs, questions
from evaluation.said import Said
from evaluation.setting import Setting
from inference.speech import Speaker
from models.errors import UserError
from models.mel import SAMPLE_RATE

SETTING = Setting(Path(), Path(), Path(), None)


def tone(hertz: float, seconds: float = 0.6) -> np.ndarray:
    """A buzz with harmonics, as voices have: float32 (samples,)."""
    turns = np.arange(int(seconds * SAMPLE_RATE)) * hertz / SAMPLE_RATE
    return sum(np.sin(2 * np.pi * k * turns) / k for k in range(1, 8)).astype(np.float32) * 0.2


def test_no_two_voices_share_a_sentence_and_unseen_voices_are_unseen():
    texts = said.texts(SETTING)
    everything = [text for chosen in texts.values() for text in chosen]
    assert len(everything) == len(set(everything)) > 0
    assert not set(said.UNSEEN_VOICES) & set(KOKORO_TRAIN)
    assert list(texts)[: len(said.SHIPPED)] == list(said.SHIPPED)


def test_pairs_differ_and_repeat_with_the_seed():
    assert len(set(pairs(100))) == 100 and pairs(100) == pairs(100)


def test_what_rises_is_counted_and_what_falls_is_not():
    pytest.importorskip("parselmouth", reason="pip install -r requirements-judges.txt")
    assert final_pitch(tone(200)) == pytest.approx(200, rel=0.02)
    assert final_pitch(np.zeros(SAMPLE_RATE, np.float32)) == 0
    for question, statement, rises in ((220, 180, 1.0), (180, 220, 0.0)):
        heights = {"?": question, ".": statement}
        figures = questions("x", lambda text, n, h=heights: tone(h[text[-1]]), 3)
        assert figures["x/rises"].value == rises
        assert figures["x/rise"].value == pytest.approx(12 * np.log2(question / statement), abs=0.3)


def test_figures_of_what_was_heard():
    heard = [Heard("one two", "one two", 4.0), Heard("three four", "three", 3.0)]
    figures = Heard.figures("row", heard)
    assert figures["row/mos"].value == 3.5 and figures["row/wer"].value == 0.25


def test_without_judges_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distillmos", None)
    mos._model.cache_clear()
    with pytest.raises(UserError, match="requirements-judges.txt"):
        mos.opinion(np.zeros(16_000, np.float32))
    mos._model.cache_clear()


def test_more_codebooks_are_nearer(shipped_dir):
    speaker = Speaker.from_pretrained(shipped_dir)
    sound = Said("a tone", tone(150, 1.0))
    whole = codebooks.encoded(speaker, sound.wave)[0].numpy()
    apart = [
        codebooks.distance(codebooks.coded(speaker, [sound], count)[0].wave, whole) for count in (1, 8)
    ]
    assert apart[1] < apart[0]
    use = codebooks.use(torch.randint(0, 1024, (500, 8)), 1024)
    assert set(use) == {f"codebook_{k}/{n}" for k in range(8) for n in ("perplexity", "use")}
