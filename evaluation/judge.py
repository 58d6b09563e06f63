"""The judge of speech: pocketsphinx with the model inside its wheel. It is fragile to noise.

`hear` writes down what it hears with its open language model; given `choices` it says which of these
sentences it heard. Every utterance is judged by itself: none adapts the judge to the next.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from data.progress import progress
from evaluation.words import spoken_words
from models.errors import needed
from models.mel import SAMPLE_RATE


@lru_cache(maxsize=2)
def decoder(choices: tuple[str, ...] | None = None):
    """A decoder: with the open language model, or a grammar of these sentences."""
    Decoder = needed("pocketsphinx", "the judge of speech", "-r requirements-dev.txt").Decoder
    settings = {"samprate": float(SAMPLE_RATE), "cmn": "batch", "loglevel": "FATAL"}
    if choices is None:
        return Decoder(**settings)
    made = Decoder(**settings, lm=None)
    sentences = " | ".join(choices)
    made.add_jsgf_string("choices", f"#JSGF V1.0; grammar choices; public <said> = {sentences};")
    made.activate_search("choices")
    return made


def knows(text: str) -> bool:
    """Whether every word is in the judge's dictionary."""
    return all(decoder().lookup_word(word) for word in spoken_words(text))


def hear_one(wave: np.ndarray, choices: tuple[str, ...] | None = None) -> str:
    """float (samples,) in [-1, 1] at 16 kHz, or int16 -> the words."""
    if wave.dtype != np.int16:
        wave = (np.clip(wave, -1, 1) * 32767).astype(np.int16)
    judge = decoder(choices)
    judge.reinit_feat()  # forget the loudness and channel of the utterance before
    judge.start_utt()
    judge.process_raw(wave.tobytes(), full_utt=True)
    judge.end_utt()
    best = judge.hyp()
    return best.hypstr if best else ""


def hear(
    waves: list[np.ndarray], workers: int, desc: str, choices: list[str] | None = None
) -> list[str]:
    """What the judge hears in each; with `choices`, which of them."""
    allowed = None
    if choices is not None:
        allowed = tuple(dict.fromkeys(" ".join(spoken_words(text)) for text in choices))
    return shared_out(partial(hear_one, choices=allowed), waves, workers, desc)


def shared_out(job: Callable, items: list, workers: int, desc: str) -> list:
    """`job` of every item, in so many processes, with a bar of progress."""
    if workers == 1:
        return list(progress(map(job, items), desc=desc, total=len(items)))
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        return list(progress(pool.imap(job, items), desc=desc, total=len(items)))
