"""The one mel spectrogram of μOmni, for hearing and for speaking alike.

It turns a waveform into log-mel frames and knows nothing of files, resampling or batching.
A 40 ms window matters more than the number of bins for how well speech comes back from it
(docs/decisions.md).
"""

from functools import lru_cache

import torch
from torch import Tensor

SAMPLE_RATE = 16_000  # Hz
N_FFT = 1024  # samples; 15.6 Hz between bins
WIN = 640  # samples: 40 ms
HOP = 160  # samples: 10 ms
FRAME_RATE = SAMPLE_RATE // HOP  # 100 frames a second
N_MELS = 128
LOG_FLOOR = 1e-5  # amplitude below which a bin counts as silence
SILENCE = -11.512925  # ln(LOG_FLOOR): the value of a silent bin


def hz_to_mel(hz: Tensor) -> Tensor:
    """HTK mel scale: 2595 log10(1 + f / 700)."""
    return 2595.0 * torch.log10(1.0 + hz / 700.0)


@lru_cache(maxsize=4)
@torch.inference_mode(False)  # kept: training may come to use it after an answer did
def mel_filters(device: str = "cpu") -> Tensor:
    """Triangular filters from 0 Hz to 8 kHz, each reaching 1 at its centre. (N_MELS, N_FFT/2+1)"""
    top = hz_to_mel(torch.tensor(SAMPLE_RATE / 2, device="cpu"))
    points = torch.linspace(0.0, float(top), N_MELS + 2, device="cpu")  # (N_MELS + 2,)
    hz = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
    bins = torch.linspace(0.0, SAMPLE_RATE / 2, N_FFT // 2 + 1, device="cpu")  # (F,)
    # The lowest triangles are narrower than one FFT bin and would be empty: widen to a bin.
    width = SAMPLE_RATE / N_FFT
    low = torch.minimum(hz[:-2], hz[1:-1] - width)[:, None]  # (N_MELS, 1)
    high = torch.maximum(hz[2:], hz[1:-1] + width)[:, None]
    centre = hz[1:-1, None]
    rising = (bins - low) / (centre - low)  # (N_MELS, F)
    falling = (high - bins) / (high - centre)
    return torch.minimum(rising, falling).clamp_min(0.0).to(device)


@lru_cache(maxsize=4)
@torch.inference_mode(False)  # kept: training may come to use it after an answer did
def window(device: str = "cpu") -> Tensor:
    """Hann window of 40 ms. (WIN,)"""
    return torch.hann_window(WIN, device=device)


def stft_magnitude(wave: Tensor) -> Tensor:
    """Magnitude spectrum, one frame every 10 ms. (..., samples) -> (..., F, samples // HOP)"""
    frames = wave.shape[-1] // HOP
    flat = wave.reshape(-1, wave.shape[-1]).float()  # (N, samples)
    # Reflect padding needs more samples than it pads: bring very short clips up to that first.
    shortage = N_FFT // 2 + 1 - flat.shape[-1]
    if shortage > 0:
        flat = torch.nn.functional.pad(flat, (0, shortage))
    spectrum = torch.stft(
        flat, N_FFT, HOP, WIN, window(str(wave.device)), center=True, return_complex=True
    )
    # The square root has no gradient at zero: keep clear of it.
    power = spectrum.real.square() + spectrum.imag.square()
    magnitude = power.clamp_min(1e-14).sqrt()[..., :frames]  # (N, F, T)
    return magnitude.reshape(*wave.shape[:-1], *magnitude.shape[-2:])


def log_mel(wave: Tensor) -> Tensor:
    """Natural log of the mel spectrum.

    Args:
        wave: (..., samples), 16 kHz, in [-1, 1].

    Returns:
        (..., 128, T) with T = samples // 160, at least ln(1e-5) = -11.5.
    """
    with torch.autocast(wave.device.type, enabled=False):
        mel = mel_filters(str(wave.device)) @ stft_magnitude(wave)  # (..., N_MELS, T)
        return mel.clamp_min(LOG_FLOOR).log()
