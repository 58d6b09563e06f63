"""Refine: a few rounds of fast Griffin-Lim from the neural vocoder's phase.

Each round takes the wave's spectrum, gives it the wanted magnitude and goes back to a wave. Random
phases need dozens of rounds; the vocoder's are good already. The wanted magnitude is part the
mel's, which knows how loud each band is, and part the vocoder's own, which knows the harmonics
that the mel's wide bands blur. It is written out, on frames of 640 samples that only the
transform pads, because it has to be quick: a round takes a third of torchaudio's time.

Paper: Perraudin, Balazs, Søndergaard, A Fast Griffin-Lim Algorithm, 2013.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from models.frames import joined, weight
from models.griffinlim import magnitude_from_mel
from models.mel import HOP, N_FFT, WIN, window

# Of each round, how much of the last one's spectrum is subtracted: momentum, much of it as long as the
# wave is far from the goal. PESQ on development speech chose this and the share.
ROUNDS = (0.0, 0.6, 0.6, 0.6, 0.3, 0.3)
OWN_SHARE = 0.5  # of the vocoder's magnitude in the wanted one
ROUND_REACH = WIN // HOP  # mel frames to either side that a sample depends on after each round
REACH = len(ROUNDS) * ROUND_REACH  # mel frames


@torch.no_grad()
def refine(wave: Tensor, mel: Tensor, rounds: tuple[float, ...] = ROUNDS) -> Tensor:
    """The vocoder's wave (B, T·160) of a log-mel (B, 128, T), made consistent with both."""
    taper = window(str(wave.device))
    wanted = magnitude_from_mel(mel).transpose(1, 2).contiguous()  # (B, T, F)
    wanted = F.pad(wanted, (0, 0, 0, 1))  # (B, T + 1, F)
    loudness = weight(taper, wanted.shape[1])
    padded = wave.new_zeros(*wanted.shape[:2], N_FFT)  # (B, T + 1, N_FFT)
    before = None
    for carry in rounds:
        frames = F.pad(wave, (WIN // 2, WIN // 2)).unfold(-1, WIN, HOP)  # (B, T + 1, WIN)
        torch.mul(frames, taper, out=padded[..., :WIN])
        spectrum = torch.fft.rfft(padded)  # (B, T + 1, F)
        if before is None:
            ahead = spectrum.clone()
            # complex from here on: a real number times a complex one is slow in PyTorch
            wanted = torch.lerp(wanted, spectrum.abs(), OWN_SHARE).to(spectrum.dtype)
        else:  # each round goes on in the direction of the last one
            ahead = torch.sub(spectrum, before, alpha=carry, out=before)
        before = spectrum
        frames = torch.fft.irfft(ahead.sgn_().mul_(wanted), n=N_FFT)  # (B, T + 1, N_FFT)
        wave = joined(frames[..., :WIN].mul_(taper)).div_(loudness)
    return wave
