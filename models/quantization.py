"""Quantisation: numbers in 8 or 4 bits that share a scale, a block of them (caches) or a row (weights).

Pure functions on tensors. q8_0 and q4_0 are llama.cpp's formats, nf4 is QLoRA's (arXiv:2305.14314)
with fp16 scales. Who stores the codes, and when they are read, is models.tensorstore's business.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.cachekind import KVCacheKind, KVCacheTensorConfig
from models.errors import UserError

DENSE = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

# Quantiles of a normal distribution, scaled to [-1, 1], with an exact zero: QLoRA, appendix E.
NF4_LEVELS = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
LEAST_SCALE = 1e-7  # near fp16's least subnormal: a block of zeros must not divide by zero


def encode(x: Tensor, config: KVCacheTensorConfig | None) -> tuple[Tensor, ...]:
    """What a cache stores of x (..., D): the numbers, or codes and scales. None: x as it is.

    Raises:
        UserError: D is no whole number of blocks, or odd where two numbers share a byte.
    """
    if config is None:
        return (x,)
    if config.kind in DENSE:
        return (x.to(DENSE[config.kind]),)
    if x.shape[-1] % config.block:
        raise UserError(
            f"cache_kind {config.kind} needs heads of a multiple of {config.block} numbers, "
            f"not {x.shape[-1]}"
        )
    if config.kind != KVCacheKind.Q8_0 and x.shape[-1] % 2:
        raise UserError(f"cache_kind {config.kind} needs an even width, not {x.shape[-1]}")
    return quantise(x, config.kind, config.block)


def decode(
    parts: Sequence[Tensor], config: KVCacheTensorConfig | None, dtype: torch.dtype
) -> Tensor:
    """The numbers that `encode` stored, (..., D); quantised ones in `dtype`."""
    return parts[0] if len(parts) == 1 else dequantise(*parts, config.kind, dtype)


def quantise(x: Tensor, kind: KVCacheKind, block: int) -> tuple[Tensor, Tensor]:
    """Codes and scales of x (..., D); D a multiple of `block`.

    Returns:
        codes: int8 (..., D) for q8_0, else uint8 (..., D / 2), two numbers a byte.
        scales: fp16 (..., D / block).
    """
    blocks = x.float().unflatten(-1, (-1, block))  # (..., D / block, block)
    if kind == KVCacheKind.Q4_0:  # the number of largest size becomes exactly -8 of 16 levels
        place = blocks.abs().argmax(dim=-1, keepdim=True)
        scales = (blocks.gather(-1, place) / -8).half()
    else:
        scales = (blocks.abs().amax(dim=-1, keepdim=True) / (127 if kind == KVCacheKind.Q8_0 else 1)).half()
    wide = scales.float()
    wide = torch.where(wide.abs() < LEAST_SCALE, torch.full_like(wide, LEAST_SCALE), wide)
    scaled = blocks / wide  # (..., D / block, block)
    if kind == KVCacheKind.Q8_0:
        codes = scaled.round().clamp(-127, 127).to(torch.int8).flatten(-2)  # (..., D)
    elif kind == KVCacheKind.Q4_0:
        codes = pack((scaled.round() + 8).clamp(0, 15).to(torch.uint8).flatten(-2))
    else:
        levels = scaled.new_tensor(NF4_LEVELS)
        middles = (levels[1:] + levels[:-1]) / 2  # (15,)
        codes = pack(torch.bucketize(scaled.contiguous(), middles).to(torch.uint8).flatten(-2))
    return codes, scales[..., 0]


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (rows, columns) as int8 of the same shape and fp32 scales (rows, 1)."""
    weight = weight.float()
    scales = weight.abs().amax(dim=-1, keepdim=True).clamp_min(LEAST_SCALE) / 127  # (rows, 1)
    return (weight / scales).round().to(torch.int8), scales


@torch.no_grad()
def round_to_int8(thinker: nn.Module) -> None:
    """Round every matrix of a Thinker to 8 bits and a scale a row, in place; numbers keep their dtype.

    PyTorch then computes with the very weights that compiled decoding reads as int8.
    """
    for parameter in thinker.parameters():
        if parameter.dim() == 2:
            codes, scales = quantise_rows(parameter)
            parameter.copy_(codes * scales)
    thinker.int8 = True


def dequantise(codes: Tensor, scales: Tensor, kind: KVCacheKind, dtype: torch.dtype) -> Tensor:
    """The numbers again, (..., D)."""
    if kind == KVCacheKind.Q8_0:
        numbers = codes.to(dtype)
    elif kind == KVCacheKind.Q4_0:
        numbers = unpack(codes).to(dtype) - 8
    else:
        levels = torch.tensor(NF4_LEVELS, dtype=dtype, device=codes.device)
        numbers = levels[unpack(codes).int()]
    blocks = numbers.unflatten(-1, (scales.shape[-1], -1))  # (..., D / block, block)
    return (blocks * scales[..., None].to(dtype)).flatten(-2)


def pack(codes: Tensor) -> Tensor:
    """Two 4-bit codes a byte: the first half of D in the low bits. (..., D) -> (..., D / 2)"""
    low, high = codes.chunk(2, dim=-1)
    return low | (high << 4)


def unpack(packed: Tensor) -> Tensor:
    """(..., D / 2) -> (..., D)"""
    return torch.cat([packed & 15, packed >> 4], dim=-1)
