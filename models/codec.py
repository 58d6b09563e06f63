"""Mel codec: log-mel spectrogram -> a few integers per 40 ms -> log-mel spectrogram.

Four mel frames (10 ms each) make one code frame (25 Hz); eight codebooks of 1,024 make it
2 kbit/s. Everything is reshape + Linear: strided convolutions are ten times slower in bf16 on a
CPU, and say the same. The codec makes no waveform: that is the vocoder's work.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.checkpoint import Pretrained
from models.errors import UserError
from models.mel import FRAME_RATE, N_MELS
from models.overlap import in_pieces
from models.quantizer import Quantized, ResidualQuantizer, nearest

MEL_MEAN, MEL_STD = -5.0, 3.0  # nats; brings log-mels near zero mean and unit spread


@dataclass
class CodecConfig:
    n_mels: int = N_MELS
    stack: int = 4  # mel frames per code frame
    hidden_size: int = 192
    intermediate_size: int = 384
    num_layers: int = 3  # blocks in the encoder, and as many in the decoder
    kernel_size: int = 7  # code frames each block looks at
    num_codebooks: int = 8
    codebook_size: int = 1024
    codebook_dim: int = 64

    @property
    def frame_rate(self) -> float:
        """Code frames per second."""
        return FRAME_RATE / self.stack

    @property
    def bitrate(self) -> float:
        """Bits per second."""
        return self.frame_rate * self.num_codebooks * math.log2(self.codebook_size)


class DepthwiseTime(nn.Module):
    """Each channel mixes a window of frames with its own weights: (B, T, D) -> (B, rows, D)."""

    def __init__(self, dim: int, kernel_size: int):
        super().__init__()
        self.reach = kernel_size // 2
        self.weight = nn.Parameter(torch.randn(kernel_size, dim) / kernel_size)
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor, rows: int | None = None) -> Tensor:
        """What is computed beyond the T frames, where more `rows` are wanted, means nothing."""
        T = x.shape[1]
        rows = rows or T
        padded = F.pad(x, (0, 0, self.reach, self.reach + rows - T))  # (B, rows + 2·reach, D)
        taps = self.weight.to(x.dtype)
        out = torch.addcmul(self.bias.to(x.dtype), padded[:, :rows], taps[0])
        for i in range(1, len(taps)):
            out.addcmul_(padded[:, i : i + rows], taps[i])
        return out


class MixBlock(nn.Module):
    """ConvNeXt block on (B, T, D): mix frames, normalise, mix channels, add."""

    def __init__(self, dim: int, intermediate: int, kernel_size: int):
        super().__init__()
        self.time = DepthwiseTime(dim, kernel_size)
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, intermediate)
        self.down = nn.Linear(intermediate, dim)

    def forward(self, x: Tensor, rows: int | None = None) -> Tensor:
        """The matrices are applied to `rows` frames, of which the T of x are kept."""
        y = self.norm(self.time(x, rows)).to(self.up.weight.dtype)  # (B, rows, D)
        return x + self.down(F.gelu(self.up(y)))[:, : x.shape[1]]


class MelCodec(Pretrained):
    """log-mel (B, 128, T) <-> codes (B, T/4, K)."""

    config_class = CodecConfig

    def __init__(self, config: CodecConfig):
        super().__init__()
        self.config = config
        wide, dim = config.n_mels * config.stack, config.hidden_size
        shape = (dim, config.intermediate_size, config.kernel_size)
        self.enter = nn.Linear(wide, dim)
        self.encoder = nn.Sequential(*(MixBlock(*shape) for _ in range(config.num_layers)))
        self.to_latent = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, config.codebook_dim))
        self.quantizer = ResidualQuantizer(
            config.num_codebooks, config.codebook_size, config.codebook_dim
        )
        self.from_latent = nn.Linear(config.codebook_dim, dim)
        self.decoder = nn.Sequential(*(MixBlock(*shape) for _ in range(config.num_layers)))
        self.leave = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, wide))

    def latent(self, mel: Tensor) -> Tensor:
        """mel (B, 128, T), T a multiple of 4 -> latent (B, T/4, D) before quantisation."""
        B, M, T = mel.shape
        if M != self.config.n_mels or T % self.config.stack:
            raise UserError(
                f"codec: mel is {M} bins × {T} frames; it needs {self.config.n_mels} bins and "
                f"a multiple of {self.config.stack} frames"
            )
        x = (mel.transpose(1, 2) - MEL_MEAN) / MEL_STD  # (B, T, 128)
        x = x.reshape(B, T // self.config.stack, -1)  # (B, T/4, 512)
        latent = self.to_latent(self.encoder(self.enter(x))).float()
        # A latent of fixed length keeps the codebooks from chasing one that grows.
        return F.layer_norm(latent, latent.shape[-1:])

    def decode_latent(self, latent: Tensor) -> Tensor:
        """latent (B, T/4, D) -> mel (B, 128, T)."""
        x = self.leave(self.decoder(self.from_latent(latent))).float()  # (B, T/4, 512)
        x = x.reshape(len(x), -1, self.config.n_mels)  # (B, T, 128)
        return (x * MEL_STD + MEL_MEAN).transpose(1, 2)

    def forward(self, mel: Tensor) -> tuple[Tensor, Quantized]:
        """mel (B, 128, T) -> (reconstructed mel, quantised)."""
        quantized = self.quantizer(self.latent(mel))
        return self.decode_latent(quantized.latent), quantized

    @torch.no_grad()
    def encode(self, mel: Tensor) -> Tensor:
        """mel (B, 128, T) -> codes (B, T/4, K); frames short of a whole code frame are dropped."""
        whole = mel.shape[-1] // self.config.stack * self.config.stack
        residual = self.latent(mel[..., :whole])
        codes = []
        for book in self.quantizer.codebooks:
            codes.append(nearest(residual, book))  # (B, T/4)
            residual = residual - book[codes[-1]]
        return torch.stack(codes, -1)

    def from_codes(self, codes: Tensor, num_codebooks: int | None = None) -> Tensor:
        """codes (B, T, K) -> latent (B, T, D)."""
        return self.quantizer.from_codes(codes, num_codebooks)

    @torch.no_grad()
    def decode(self, codes: Tensor, num_codebooks: int | None = None) -> Tensor:
        """codes (B, T, K) -> mel (B, 128, 4T)."""
        return self.decode_latent(self.from_codes(codes, num_codebooks))

    @property
    def reach(self) -> int:
        """Code frames to either side that a decoded mel frame can depend on."""
        return self.config.num_layers * (self.config.kernel_size // 2)

    def stream(
        self, chunks: Iterable[Tensor], num_codebooks: int | None = None
    ) -> Iterator[Tensor]:
        """Code chunks (B, t, K) -> mel chunks (B, 128, ·); joined, they equal the whole call."""

        def run(codes: Tensor) -> Tensor:  # (B, K, t) -> (B, 128, 4t)
            return self.decode(codes.transpose(1, 2), num_codebooks)

        turned = (codes.transpose(1, 2) for codes in chunks)
        return in_pieces(run, turned, self.reach, self.config.stack)
