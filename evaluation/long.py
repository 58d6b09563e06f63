"""Long recordings: ten minutes of joined test sentences, with pauses and without, against one by one.

Words in order are those of the longest common subsequence with the truth; doubled are words that come
again at once where the truth has them once. What windows cost is the difference to the same sentences
one by one: the rest is the recogniser's own word errors. Voice activity is measured on the same
sentences, quiet and noisy: word errors with it and without.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from difflib import SequenceMatcher

import numpy as np

from data.progress import progress
from evaluation.audio import NOISE_DB, maker
from evaluation.results import Figure, error_rate, grouped_rate, mean, rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.words import spoken_words, word_errors
from inference.omni import Omni
from models.mel import SAMPLE_RATE

SENTENCES = 200  # about ten minutes
PAUSES = 0.3, 1.5  # s between sentences, where there are pauses


def measure(setting: Setting) -> Measured:
    """Figures of each way of joining, and what voice activity costs."""
    omni = setting.omni("hearing")
    n, figures = setting.count(SENTENCES), {}
    quiet = [maker(setting).wave(i) for i in progress(range(n), desc="sentences")]
    truth = [record["text"] for record, _ in quiet]
    waves = [wave for _, wave in quiet]
    alone = said_alone(omni, waves, "one by one")
    figures["alone/in_order"] = in_order(truth, alone)
    figures["vad/quiet"] = error_rate(errors(truth, alone))
    figures["vad_off/quiet"] = error_rate(errors(truth, said_alone(omni, waves, "no VAD", False)))
    noisy = [maker(setting, NOISE_DB).wave(i)[1] for i in progress(range(n), desc="noisy")]
    for name, vad in (("vad", True), ("vad_off", False)):
        said = said_alone(omni, noisy, f"noisy, {name}", vad)
        figures[f"{name}/noisy"] = error_rate(errors(truth, said))
    rng = np.random.default_rng(SEED)
    for name, pause in (("pauses", lambda: rng.uniform(*PAUSES)), ("no_pauses", lambda: 0.0)):
        figures |= joined(omni, truth, waves, pause, name)
    return figures


def said_alone(omni: Omni, waves: list[np.ndarray], desc: str, vad: bool = True) -> list[str]:
    """Transcripts of the sentences one by one."""
    return [omni.transcribe((wave, SAMPLE_RATE), vad=vad) for wave in progress(waves, desc=desc)]


def joined(
    omni: Omni, truth: list[str], waves: list[np.ndarray], pause: Callable[[], float], name: str
) -> Measured:
    """Figures of the sentences as one recording."""
    parts = []
    for wave in waves:
        parts += [without_silence(wave), np.zeros(int(pause() * SAMPLE_RATE), np.float32)]
    recording = np.concatenate(parts)  # (samples,)
    begun = time.perf_counter()
    text = omni.transcribe((recording, SAMPLE_RATE))
    speed = len(recording) / SAMPLE_RATE / (time.perf_counter() - begun)
    return {
        f"{name}/in_order": in_order([" ".join(truth)], [text]),
        f"{name}/doubled": rate(doubled(" ".join(truth), text)),
        f"{name}/speed": mean([speed]),
        f"{name}/seconds": mean([len(recording) / SAMPLE_RATE], "s"),
    }


def without_silence(wave: np.ndarray) -> np.ndarray:
    """The sound from its first loud sample to its last. (samples,)"""
    loud = np.flatnonzero(np.abs(wave) > 0.02 * np.abs(wave).max())
    return wave[loud[0] : loud[-1] + 1].astype(np.float32)


def errors(truth: list[str], said: list[str]) -> list[tuple[int, int]]:
    return [word_errors(t, s) for t, s in zip(truth, said, strict=True)]


def in_order(truth: list[str], said: list[str]) -> Figure:
    """Share of the words of the truth that are heard in their order."""
    pairs = zip(truth, said, strict=True)
    return grouped_rate([kept(spoken_words(t), spoken_words(s)) for t, s in pairs])


def kept(true: list[str], heard: list[str]) -> list[bool]:
    """Of each word whether it is part of a longest common subsequence with what was heard."""
    lengths = np.zeros((len(true) + 1, len(heard) + 1), np.int32)
    words = np.array(heard, dtype=object)
    for i, word in enumerate(true):
        match = np.where(words == word, lengths[i, :-1] + 1, 0) if heard else lengths[i, 1:]
        lengths[i + 1, 1:] = np.maximum.accumulate(np.maximum(lengths[i, 1:], match))
    found, i, j = [False] * len(true), len(true), len(heard)
    while i and j:
        if lengths[i, j] == lengths[i - 1, j]:
            i -= 1
        elif lengths[i, j] == lengths[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found[i] = True
    return found


def doubled(truth: str, said: str) -> list[bool]:
    """Of each heard word whether it begins what was just heard over again, and the truth does not."""
    true, heard = spoken_words(truth), spoken_words(said)
    again = [False] * len(heard)
    for tag, _, _, k, m in SequenceMatcher(None, true, heard, autojunk=False).get_opcodes():
        size = m - k
        if tag == "insert" and heard[k:m] in (heard[max(0, k - size) : k], heard[m : m + size]):
            again[k:m] = [True] * size
    return again or [False]
