"""The codec's ladder: what is left of the teacher's speech with fewer codebooks, at fewer bits.

All rungs say the same sentences through the neural vocoder; distance, intelligibility and the
judge's errors are against the recording itself.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from evaluation.fidelity import understood
from evaluation.judge import hear
from evaluation.results import Figure, error_rate, mean
from evaluation.setting import SEED, Measured
from evaluation.words import letter_errors, word_errors
from inference.codec import decode
from inference.speech import Speaker
from models.mel import log_mel
from models.quantizer import perplexity

DECIBELS = 20 / math.log(10)  # in a neper, the unit of the mel


def ladder(
    speaker: Speaker, codes: list[Tensor], waves: list[np.ndarray], texts: list[str], workers: int
) -> Measured:
    """One rung per number of codebooks; codes (T, K) and teacher's waves of the same sentences."""
    figures: Measured = {}
    config = speaker.codec.config
    for count in range(1, config.num_codebooks + 1):
        made = [decode(speaker.codec, speaker.vocoder, c, count).numpy() for c in codes]
        coded = [speaker.codec.decode(c[None], count)[0] for c in codes]  # each (128, T)
        apart = [distance(mel, wave) for mel, wave in zip(coded, waves, strict=True)]
        said = hear(made, workers, f"judging {count} codebooks")
        row = f"books_{count}"
        bits = config.bitrate * count / config.num_codebooks / 1000  # kbit/s
        figures[f"{row}/bitrate"] = Figure(bits, None, None, len(codes), SEED, "kbit/s")
        figures[f"{row}/mel"] = mean(apart, SEED, "dB")
        figures[f"{row}/stoi"] = mean(understood(waves, made), SEED)
        for name, errors in ("wer", word_errors), ("cer", letter_errors):
            pairs = [errors(t, s) for t, s in zip(texts, said, strict=True)]
            figures[f"{row}/{name}"] = error_rate(pairs, SEED)
    return figures


def distance(mel: Tensor, wave: np.ndarray) -> float:
    """Mean distance in dB between a log-mel (128, T) and that of a wave (samples,)."""
    true = log_mel(torch.from_numpy(wave))  # (128, T)
    return float((mel - true).abs().mean()) * DECIBELS


def use(codes: Tensor, size: int) -> Measured:
    """How evenly each codebook is used, codes (frames, K): perplexity, and its share of `size`."""
    figures: Measured = {}
    for k in range(codes.shape[1]):
        value = float(perplexity(torch.bincount(codes[:, k], minlength=size)))
        for name, number, unit in ("perplexity", value, "codes"), ("use", value / size, "rate"):
            figures[f"codebook_{k}/{name}"] = Figure(number, None, None, len(codes), SEED, unit)
    return figures
