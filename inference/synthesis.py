"""Codes -> waveform: the codec's decoder and a vocoder as one stream.

Joined, the chunks equal what one call on all codes gives. Which codes to make is the Talker's
business, how loud they sound inference.loudness's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch import Tensor

from models.codec import MelCodec
from models.griffinlim import griffin_lim
from models.vocoder import Vocoder

VOCODERS = ("neural", "griffinlim")
CHUNK = 24  # code frames made at a time: 0.96 s. Fewer than 19 settle no sound at all


def in_chunks(frames: Iterable[Tensor]) -> Iterator[Tensor]:
    """Codes (B, K) of one frame after another -> chunks (B, t, K)."""
    frames = iter(frames)
    while chunk := list(islice(frames, CHUNK)):
        yield torch.stack(chunk, 1)


def waveform(
    codec: MelCodec,
    vocoder: Vocoder,
    codes: Iterable[Tensor],
    kind: str = "neural",
    num_codebooks: int | None = None,
    seed: int = 0,
) -> Iterator[Tensor]:
    """Code chunks (B, t, K) -> waveform chunks (B, samples), each as soon as it is settled."""
    mels = codec.stream(codes, num_codebooks)
    if kind == "griffinlim":  # its phases settle all together: it cannot stream
        yield griffin_lim(torch.cat(list(mels), -1), seed=seed)
        return
    yield from vocoder.stream(mels)
