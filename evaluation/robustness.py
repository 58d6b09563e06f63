"""Any sentence comes to its end: random words, none looped over and none cut off.

The Talker's length is held against the teacher's on the same words. No judge listens here: words
in random order are nothing that a language model expects.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from tqdm import tqdm

from evaluation.results import mean, rate
from evaluation.setting import SEED, Measured
from inference.loudness import AUDIBLE
from models.mel import SAMPLE_RATE

LONGEST = 40  # words
LOOPED = 2.0  # times the teacher's length: beyond it something was said twice
CUT = 0.5  # of the teacher's length: what ends before it has lost words

Say = Callable[[str], np.ndarray]


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


def robust(texts: list[str], talker: Say, teacher: Say) -> Measured:
    """Rates of looped and of cut sentences, and the length beside the teacher's."""
    ratios = []
    for text in tqdm(texts, desc="random sentences"):
        ratios.append(spoken_seconds(talker(text)) / max(spoken_seconds(teacher(text)), 0.1))
    return {
        "robust/looped": rate([ratio >= LOOPED for ratio in ratios], SEED),
        "robust/cut": rate([ratio <= CUT for ratio in ratios], SEED),
        "robust/length": mean(ratios, SEED),
    }
