"""Any sentence comes to its end: random words, none looped over and none cut off.

The Talker's length is held against the teacher's on the same words. No judge listens here: words
in random order are nothing that a language model expects.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from data.speech.tts import aligned
from evaluation.judge import shared_out
from evaluation.results import mean, rate
from evaluation.setting import SEED, Measured
from inference.loudness import AUDIBLE
from inference.speech import Speaker
from models.mel import SAMPLE_RATE

LONGEST = 40  # words
LOOPED = 2.0  # times the teacher's length: beyond it something was said twice
CUT = 0.5  # of the teacher's length: what ends before it has lost words


def random_sentences(words: list[str], count: int) -> list[str]:
    """Sentences of 1 to 40 words in random order, all lengths alike."""
    rng = random.Random(f"robust-{SEED}")
    lengths = [1 + i % LONGEST for i in range(count)]
    drawn = [" ".join(rng.choices(words, k=length)) for length in lengths]
    return [text[0].upper() + text[1:] + "." for text in drawn]


def spoken_seconds(wave: np.ndarray) -> float:
    """Until the last sample that can be heard."""
    size = np.abs(wave.astype(np.float32))  # (samples,)
    loud = np.flatnonzero(size > AUDIBLE * size.max(initial=0.0))
    return (int(loud[-1]) + 1) / SAMPLE_RATE if len(loud) else 0.0


def ratio(made: np.ndarray, true: np.ndarray) -> float:
    """Length of one sound beside another's, silence at the end left out."""
    return spoken_seconds(made) / max(spoken_seconds(true), 0.1)


@lru_cache(maxsize=1)
def opened(ckpt_dir: Path) -> Speaker:
    """The speaking parts, once in each process."""
    torch.set_num_threads(1)  # the processes share the cores
    return Speaker.from_pretrained(ckpt_dir)


def length_beside_teacher(text: str, ckpt_dir: Path, voice: str) -> float:
    """The Talker's length of a text beside Hibari's, whose voice is its first."""
    made, _ = opened(ckpt_dir).speak(text, voice)
    return ratio(made, aligned.say(text, "hibari", voice))


def robust(texts: list[str], length: Callable[[str], float], workers: int = 1) -> Measured:
    """Rates of looped and of cut sentences, and the length beside the teacher's."""
    ratios = shared_out(length, texts, workers, "random sentences")
    return {
        "robust/looped": rate([r >= LOOPED for r in ratios]),
        "robust/cut": rate([r <= CUT for r in ratios]),
        "robust/length": mean(ratios),
    }
