"""Do questions end higher than statements of the same words? Pitch is Praat's (parselmouth).

The pairs differ in their mark alone: "You like the garden." and "You like the garden?"
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from evaluation.results import mean, rate
from evaluation.setting import SEED, Measured
from evaluation.whisper import INSTALL
from models.errors import needed
from models.mel import SAMPLE_RATE

PAIRS = 100
PEOPLE = ("You", "They", "We", "Your friends", "The children", "His parents", "The teachers")
DEEDS = ("like", "know", "saw", "want", "found", "need", "remember", "bought", "painted", "heard of")
THINGS = ("the garden", "the river", "a new car", "the old house", "the red door", "my brother",
          "the music", "a warm coat", "the answer", "the yellow flowers", "this story", "the bridge")
ENDING = 0.3  # seconds of voiced sound that count as the end
LOWEST, HIGHEST = 60, 500  # Hz


def pairs(count: int) -> list[str]:
    """Statements without their mark, all different."""
    rng, drawn = random.Random(f"questions-{SEED}"), {}
    while len(drawn) < count:
        drawn[f"{rng.choice(PEOPLE)} {rng.choice(DEEDS)} {rng.choice(THINGS)}"] = None
    return list(drawn)


def final_pitch(wave: np.ndarray) -> float:
    """Median pitch in Hz of the last voiced part of float (samples,); 0: nothing is voiced."""
    praat = needed("parselmouth", "pitch", INSTALL)
    sound = praat.Sound(wave.astype(np.float64), SAMPLE_RATE)
    pitch = sound.to_pitch(time_step=0.01, pitch_floor=LOWEST, pitch_ceiling=HIGHEST)
    voiced = pitch.selected_array["frequency"]
    voiced = voiced[voiced > 0][-round(ENDING / 0.01) :]
    return float(np.median(voiced)) if len(voiced) else 0.0


def questions(row: str, say: Callable[[str, int], np.ndarray], count: int) -> Measured:
    """How often the question ends higher, and how much: `row/rises`, `row/rise` in semitones.

    Args:
        say: (text, number of the pair) -> float (samples,).
    """
    higher, by = [], []
    for n, words in enumerate(pairs(count)):
        said, asked = (final_pitch(say(words + mark, n)) for mark in ".?")
        higher.append(bool(said and asked) and asked > said)
        if said and asked:
            by.append(12 * float(np.log2(asked / said)))
    return {f"{row}/rises": rate(higher), f"{row}/rise": mean(by, "semitones")}
