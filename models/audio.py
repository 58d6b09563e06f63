"""Audio encoder: log-mel frames to 12.5 tokens a second, with a CTC head.

Two stride-2 convolutions take 100 Hz to 25 Hz, where the first blocks work: a letter lasts 70 ms,
so slower frames blur it. A third halves the rate again for the rest. Each block has a depthwise
convolution over its neighbours, as in the Conformer, and then attends to the whole clip, without
a causal mask; rotary positions tell the order. Strided convolutions are written as unfold + Linear,
which on this CPU trains ten times faster in bf16 than the strided kernel.

The CTC head is what the encoder is pretrained with. It stays, for transcripts (inference/transcripts.py).

Papers: Whisper arXiv:2212.04356, Conformer arXiv:2005.08100; Connectionist temporal classification,
Graves et al. 2006.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.block import Block, BlockConfig, RMSNorm, Rope, init_weights, rope_table
from models.checkpoint import Pretrained
from models.ctc import CTC_FRAMES, LABELS
from models.mel import N_MELS, SILENCE

STRIDE = 8  # mel frames per token: 100 Hz -> 12.5 Hz
MEL_MEAN, MEL_STD = -6.0, 4.0  # nats; bring log-mels to roughly unit scale


def audio_tokens(mel_frames: int | Tensor) -> int | Tensor:
    """How many tokens a clip of so many mel frames takes up; of a tensor, each of its numbers."""
    return -(-mel_frames // STRIDE)


@dataclass
class AudioConfig:
    """Widths in channels."""

    hidden_size: int = 256
    num_layers: int = 5
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 576
    conv_size: int = 192
    n_mels: int = N_MELS
    fast_layers: int = 0  # of the layers, how many work at 25 Hz
    kernel: int = 0  # frames that a layer's convolution spans, odd; 0: none


class StridedConv(nn.Module):
    """Kernel 4, stride 2 over time, channels last. (B, 2T, C) -> (B, T, C')"""

    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.proj = nn.Linear(4 * channels, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        x = F.pad(x, (0, 0, 1, 1)).contiguous()  # (B, T + 2, C)
        windows = x.as_strided((B, T // 2, 4 * C), (x.stride(0), 2 * C, 1))  # overlapping views
        return F.gelu(self.proj(windows))  # (B, T / 2, C')


class LocalConv(nn.Module):
    """Depthwise convolution over time: proj(silu(depthwise(norm(x)))). (B, T, C) -> the same."""

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        self.norm = RMSNorm(channels)
        self.taps = nn.Parameter(torch.randn(kernel, channels) * kernel**-0.5)
        self.proj = nn.Linear(channels, channels, bias=False)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """`real` (B, T) is True within a clip: padding must not reach it."""
        T, K = x.shape[1], len(self.taps)
        y = self.norm(x) * real[..., None]  # (B, T, C)
        y = F.pad(y, (0, 0, K // 2, K // 2))  # (B, T + K - 1, C)
        taps = self.taps.to(y.dtype)
        y = sum(y[:, k : k + T] * taps[k] for k in range(K))  # (B, T, C)
        return self.proj(F.silu(y))


class AudioBlock(Block):
    """The shared block after a convolution over time. (B, T, hidden) -> the same."""

    def __init__(self, config: AudioConfig):
        super().__init__(BlockConfig.of(config))
        self.local = LocalConv(config.hidden_size, config.kernel) if config.kernel else None

    def forward(self, x: Tensor, rope: Rope, real: Tensor) -> Tensor:
        """`real` (B, T) is True within a clip."""
        if self.local is not None:
            x = x + self.local(x, real)
        return super().forward(x, rope, real[:, None, None])


class AudioEncoder(Pretrained):
    """Log-mel (B, 128, T) -> (B, ceil(T / 8), hidden)."""

    config_class = AudioConfig

    def __init__(self, config: AudioConfig):
        super().__init__()
        self.config = c = config
        middle = c.hidden_size if c.fast_layers else c.conv_size
        self.convs = nn.ModuleList(
            [
                StridedConv(c.n_mels, c.conv_size),
                StridedConv(c.conv_size, middle),
                StridedConv(middle, c.hidden_size),
            ]
        )
        self.layers = nn.ModuleList(AudioBlock(c) for _ in range(c.num_layers))
        self.norm = RMSNorm(c.hidden_size)
        self.apply(init_weights)
        with torch.random.fork_rng(devices=[]):  # later parts are initialised as without the head
            self.ctc = nn.Linear(c.hidden_size, CTC_FRAMES * LABELS)
            init_weights(self.ctc)

    def ctc_log_probs(self, encoded: Tensor) -> Tensor:
        """CTC log-probabilities. (B, n, hidden) -> (B, CTC_FRAMES * n, labels)"""
        x = self.ctc(encoded)  # (B, n, CTC_FRAMES * labels)
        return x.unflatten(2, (CTC_FRAMES, -1)).flatten(1, 2).float().log_softmax(-1)

    def forward(self, mel: Tensor, lengths: Tensor) -> Tensor:
        """Encode a batch of clips.

        Args:
            mel: (B, 128, T) natural-log mel; what lies beyond a clip's length is ignored.
            lengths: (B,) mel frames of each clip.

        Returns:
            (B, ceil(T / 8), hidden); only the first ceil(length / 8) tokens of a row mean anything.
        """
        T, fast = mel.shape[2], self.config.fast_layers
        tokens = audio_tokens(T)
        x = mel.masked_fill(~within(lengths, T)[:, None], SILENCE)
        # One token of silence more than needed, dropped again below: the convolutions reach 7 frames
        # ahead and must find the same there whether a clip stands alone or in a batch.
        x = F.pad(x, (0, (tokens + 1) * STRIDE - T), value=SILENCE)  # (B, 128, 8 * (n + 1))
        x = ((x - MEL_MEAN) / MEL_STD).transpose(1, 2)  # (B, 8 * (n + 1), 128)
        for conv in self.convs[:2]:
            x = conv(x)  # (B, 4 * (n + 1), C), then (B, 2 * (n + 1), C)
        if fast:
            real = within(-(-lengths // 4), 2 * tokens)  # (B, 2 * n)
            x = self.mix(x[:, : 2 * tokens], real, self.layers[:fast]) * real[..., None]
        x = self.convs[2](x)[:, :tokens]  # (B, n, hidden)
        return self.norm(self.mix(x, within(audio_tokens(lengths), tokens), self.layers[fast:]))

    def mix(self, x: Tensor, real: Tensor, layers: nn.ModuleList) -> Tensor:
        """Run blocks. (B, T, hidden), real (B, T) -> (B, T, hidden)"""
        rope = rope_table(torch.arange(x.shape[1], device=x.device), self.config.head_dim, 10_000.0)
        for layer in layers:
            x = layer(x, rope, real)
        return x


def within(lengths: Tensor, size: int) -> Tensor:
    """True for the first `lengths` of `size` places. (B,) -> (B, size)"""
    return torch.arange(size, device=lengths.device) < lengths[:, None]
