"""Questions that rise: the teachers let every sentence fall, so the end of a question is raised.

Praat (parselmouth, overlap-add) changes the pitch and leaves the rest. Questions for a place, a
time, a reason fall in English, too; those for yes or no rise, and so does a statement that is asked.
"""

from __future__ import annotations

import re

import numpy as np

from data.readers.speech import RATE
from models.errors import needed

QUESTION_WORDS = frozenset("who whom whose what when where why which how".split())
OPENING = frozenset("and but so or well oh then now yes no".split())  # before the question itself
RISE = 3.0  # semitones above the utterance's median pitch, at its end
SHORTEST = 0.35  # seconds of a rise
LOWEST, HIGHEST, STEP = 60.0, 500.0, 0.01  # Hz, Hz, seconds: Praat's analysis
LONGEST_ASKED = 12  # words of a statement that is asked


def rises(text: str) -> bool:
    """Whether a text ends as a question that rises."""
    if not text.endswith("?"):
        return False
    last = re.split(r"[.!?]\s", text)[-1].lower()
    first = next((word for word in re.findall(r"[a-z]+", last) if word not in OPENING), "")
    return first not in QUESTION_WORDS


def asked(item: dict) -> dict:
    """A short statement as a question of the same words; anything else as it is.

    Args:
        item: an utterance with its text and the mark of each phone (data/speech/teachers.py).
    """
    text, marks = item["text"], list(item["marks"])
    if not re.fullmatch(r"[^.?!]+\.", text) or len(text.split()) > LONGEST_ASKED:
        return item
    for n in range(len(marks) - 1, -1, -1):
        if marks[n] != ".":
            break
        marks[n] = "?"
    return item | {"text": text[:-1] + "?", "marks": marks}


def raised(item: dict) -> dict:
    """An utterance, its pitch climbing to the end from about its last stressed vowel if it `rises`."""
    stressed = [start for _, start, _, _, stress in item["phones"] if stress == 1]
    if not (rises(item["text"]) and stressed and any(item["pitch"])):
        return item
    praat = needed("parselmouth", "rising questions", "-r requirements-judges.txt")
    sound = praat.Sound(item["wave"].astype(np.float64) / 32768.0, RATE)
    change = praat.praat.call(sound, "To Manipulation", STEP, LOWEST, HIGHEST)
    tier = praat.praat.call(change, "Extract pitch tier")
    if praat.praat.call(tier, "Get number of points") == 0:
        return item
    end = max(end for (_, _, end, *_), hertz in zip(item["phones"], item["pitch"], strict=True) if hertz)
    start = max(0.0, min(stressed[-1], end - SHORTEST))
    median = float(np.median([hertz for hertz in item["pitch"] if hertz]))
    low = praat.praat.call(tier, "Get value at time", start)
    high = max(low, median) * 2 ** (RISE / 12)
    praat.praat.call(tier, "Remove points between", start, sound.duration)
    praat.praat.call(tier, "Add point", start, low)
    praat.praat.call(tier, "Add point", end, high)
    praat.praat.call([tier, change], "Replace pitch tier")
    wave = praat.praat.call(change, "Get resynthesis (overlap-add)").values[0]
    climb = np.log2(high / low)
    pitch = [
        float(low * 2 ** (climb * ((a + b) / 2 - start) / (end - start))) if h and b > start else h
        for (_, a, b, *_), h in zip(item["phones"], item["pitch"], strict=True)
    ]
    return item | {"wave": np.clip(wave * 32768.0, -32768, 32767).astype(np.int16), "pitch": pitch}
