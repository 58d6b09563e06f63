"""Estimated mean opinion score: what listeners would give a sound, from 1 (bad) to 5 (excellent).

The estimator is DistilMOS, whose wheel brings its weights. Paper: arXiv:2502.05356.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from evaluation.judge import shared_out
from evaluation.whisper import INSTALL
from models.errors import needed

LOUDNESS = 0.7  # peak every sound is brought to: the estimator hears level as quality


@cache
def _model():
    torch.set_num_threads(1)  # the processes share the cores
    return needed("distillmos", "the estimated MOS", INSTALL).ConvTransformerSQAModel().eval()


@torch.inference_mode()
def opinion(wave: np.ndarray) -> float:
    """float32 (samples,) at 16 kHz -> 1..5."""
    sound = torch.from_numpy(wave.astype(np.float32))
    sound = sound * (LOUDNESS / sound.abs().max().clamp(min=1e-4))
    return float(_model()(sound[None]))


def opinions(waves: list[np.ndarray], workers: int, desc: str) -> list[float]:
    """The same of each."""
    return shared_out(opinion, waves, workers, desc)
