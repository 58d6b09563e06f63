"""Neural vocoder: log-mel -> waveform through one inverse Fourier transform (after Vocos).

A stack of ConvNeXt blocks at the mel's own frame rate predicts, for each 10 ms frame, a magnitude
and a phase; overlap-add makes the waveform. Nothing is upsampled, so it is quick. The magnitude
starts from the mel itself: the network only corrects it. `stream` gives the same samples as the
whole call, chunk by chunk, because each frame sees a bounded neighbourhood.

Paper: Vocos arXiv:2306.00814.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.checkpoint import Pretrained
from models.codec import MEL_MEAN, MEL_STD, MixBlock
from models.errors import UserError
from models.frames import overlap_add
from models.mel import HOP, N_MELS, SAMPLE_RATE, SILENCE, WIN, hz_to_mel, mel_filters
from models.overlap import in_pieces
from models.processor import multiplies_bfloat16

MAX_LOG_MAGNITUDE = 6.0  # nats; far above speech, keeps exp finite
ROWS = 64  # frames: lengths are rounded up to a multiple, as each new one costs oneDNN a new kernel


@dataclass
class VocoderConfig:
    """Widths in channels."""

    n_mels: int = N_MELS
    hidden_size: int = 192
    intermediate_size: int = 416
    num_layers: int = 6
    kernel_size: int = 7  # mel frames
    n_fft: int = WIN  # the analysis window and no more: zero padding would only add bins to learn


@lru_cache(maxsize=2)
@torch.inference_mode(False)  # kept: training may come to use it after an answer did
def bin_from_mel(n_fft: int, n_mels: int) -> Tensor:
    """Rows that interpolate a log-mel at each linear frequency bin. (n_fft/2+1, n_mels)"""
    hz = torch.linspace(0.0, SAMPLE_RATE / 2, n_fft // 2 + 1, device="cpu")
    top = hz_to_mel(torch.tensor(SAMPLE_RATE / 2, device="cpu"))
    place = (hz_to_mel(hz) / top * (n_mels + 1) - 1).clamp(0, n_mels - 1)  # (F,) in mel bins
    rows = torch.arange(n_mels, device="cpu")
    return (1 - (place[:, None] - rows).abs()).clamp(min=0)  # (F, n_mels)


class Vocoder(Pretrained):
    """log-mel (B, 128, T) -> waveform (B, T·160)."""

    config_class = VocoderConfig

    def __init__(self, config: VocoderConfig):
        super().__init__()
        self.config = config
        dim, bins = config.hidden_size, config.n_fft // 2 + 1
        self.enter = nn.Linear(3 * config.n_mels, dim)  # a frame and its two neighbours
        self.enter_norm = nn.LayerNorm(dim)
        self.blocks = nn.Sequential(
            *(
                MixBlock(dim, config.intermediate_size, config.kernel_size)
                for _ in range(config.num_layers)
            )
        )
        self.leave_norm = nn.LayerNorm(dim)
        self.magnitude = nn.Linear(dim, bins)
        self.phase = nn.Linear(dim, 2 * bins)  # real and imaginary part of the direction
        nn.init.normal_(self.magnitude.weight, std=1e-3)
        width = mel_filters().sum(-1).log()  # (128,) a wide filter sums more bins
        self.register_buffer("window", torch.hann_window(config.n_fft), persistent=False)
        self.register_buffer("width", width[None, :, None], persistent=False)
        self.register_buffer(
            "interpolate", bin_from_mel(config.n_fft, config.n_mels).clone(), persistent=False
        )

    @property
    def reach(self) -> int:
        """Mel frames to either side that a sample can depend on."""
        per_block = self.config.kernel_size // 2
        return self.config.num_layers * per_block + 1 + self.config.n_fft // HOP // 2

    def quicken(self) -> Vocoder:
        """Matrices of the blocks in bf16, where this processor multiplies it; returns itself.

        The heads stay as they are: rounded phases are heard (0.01 of PESQ), rounded blocks are not.
        """
        if multiplies_bfloat16(torch.device("cpu")):
            for block in self.blocks:
                block.up.bfloat16()
                block.down.bfloat16()
        return self

    def spectrum(self, mel: Tensor) -> Tensor:
        """mel (B, 128, T) -> complex spectrum (B, F, T)."""
        if mel.dim() != 3 or mel.shape[1] != self.config.n_mels:
            raise UserError(f"vocoder: mel of shape {tuple(mel.shape)}, expected (B, 128, T)")
        x = ((mel - MEL_MEAN) / MEL_STD).transpose(1, 2)  # (B, T, 128)
        silence = (SILENCE - MEL_MEAN) / MEL_STD
        padded = F.pad(x, (0, 0, 1, 1), value=silence)  # (B, T + 2, 128)
        x = torch.cat([padded[:, :-2], x, padded[:, 2:]], -1)  # (B, T, 384)
        x = self.enter_norm(self.enter(x))  # (B, T, D)
        rows = -(-x.shape[1] // ROWS) * ROWS
        for block in self.blocks:
            x = block(x, rows)
        x = self.leave_norm(x)
        envelope = (mel - self.width).float().transpose(1, 2) @ self.interpolate.T  # (B, T, F)
        size = (envelope + self.magnitude(x).float()).clamp(max=MAX_LOG_MAGNITUDE).exp()
        real, imaginary = self.phase(x).float().chunk(2, -1)  # (B, T, F) each
        scale = size * (real.square() + imaginary.square() + 1e-9).rsqrt()
        return torch.complex(scale * real, scale * imaginary).transpose(1, 2)  # (B, F, T)

    def forward(self, mel: Tensor) -> Tensor:
        """mel (B, 128, T) -> waveform (B, T·160)."""
        spectrum = self.spectrum(mel)
        return overlap_add(spectrum, self.window)

    def stream(self, chunks: Iterable[Tensor]) -> Iterator[Tensor]:
        """mel chunks (B, 128, t) -> waveform chunks; joined, they equal the whole call.

        Each piece of sound comes `reach` frames after its mel.
        """
        return in_pieces(self, chunks, self.reach, HOP)
