"""Griffin-Lim: log-mel -> waveform without any learning, the baseline a learner understands.

The mel filters are undone by a pseudo-inverse. The phase is guessed and made consistent by going
back and forth between waveform and spectrum (torchaudio does the loop).
"""

from __future__ import annotations

from functools import lru_cache

import torch
import torchaudio
from torch import Tensor

from models.mel import HOP, N_FFT, WIN, mel_filters, window

MOMENTUM = 0.99  # of fast Griffin-Lim, Perraudin et al. 2013


@lru_cache(maxsize=1)
@torch.inference_mode(False)  # kept: training may come to use it after an answer did
def inverse_filters() -> Tensor:
    """Pseudo-inverse of the mel filters. (F, 128)"""
    return torch.linalg.pinv(mel_filters())


@torch.no_grad()
def magnitude_from_mel(mel: Tensor) -> Tensor:
    """log-mel (B, 128, T) -> linear magnitude (B, F, T), never negative."""
    return (inverse_filters().to(mel.device) @ mel.float().exp()).clamp(min=0)


@torch.no_grad()
def griffin_lim(mel: Tensor, iterations: int = 32, seed: int = 0) -> Tensor:
    """log-mel (B, 128, T) -> waveform (B, T·160). The starting phase is random, by seed."""
    B, _, T = mel.shape
    magnitude = magnitude_from_mel(mel)
    magnitude = torch.nn.functional.pad(magnitude, (0, 1))  # (B, F, T + 1): reach the last 10 ms
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        wave = torchaudio.functional.griffinlim(
            magnitude,
            window(str(mel.device)),
            n_fft=N_FFT,
            hop_length=HOP,
            win_length=WIN,
            power=1.0,
            n_iter=iterations,
            momentum=MOMENTUM,
            length=T * HOP,
            rand_init=True,
        )
    return wave.reshape(B, T * HOP)
