"""How a KV cache stores keys and values: the kinds, and how a user names them. No torch here.

The block formats are llama.cpp's q8_0 and q4_0, and QLoRA's nf4 (arXiv:2305.14314).
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from models.errors import UserError


class KVCacheKind(StrEnum):
    """Number formats of a cache."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    Q8_0 = "q8_0"  # 8 bits, one fp16 scale a block
    Q4_0 = "q4_0"  # 4 bits, evenly spaced
    NF4 = "nf4"  # 4 bits, spaced as the quantiles of a normal distribution


SHORT = {"q8": "q8_0", "q4": "q4_0"}  # other names of kinds
AUTO = "auto"  # no kind: inference measures which one to use


@dataclass(frozen=True)
class KVCacheTensorConfig:
    """How one tensor of a layer is kept: keys (or a part of them), or values."""

    kind: KVCacheKind
    block: int = 32  # numbers that share a scale; quantised kinds only

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", KVCacheKind(SHORT.get(self.kind, self.kind)))
        except ValueError:
            raise UserError(f"unknown cache kind {self.kind}: use {', '.join(KVCacheKind)}") from None

    def fitted(self, width: int) -> "KVCacheTensorConfig":
        """The same with blocks that a narrower part divides into."""
        return replace(self, block=math.gcd(self.block, width))


def parse_cache_kind(text: str, parts: int = 2) -> tuple[KVCacheTensorConfig, ...]:
    """`q8_0` for all parts, `q8_0/nf4` for keys and values apart.

    Args:
        parts: 2, or 3 where semantic and geometric keys are kept apart: `nf4/q8_0/nf4`.
    """
    if text == AUTO:
        raise UserError("cache_kind auto is measured with a tokenizer's text: ask through Omni")
    names = [SHORT.get(name, name) for name in text.split("/")]
    known = [kind.value for kind in KVCacheKind]
    if len(names) > parts or not set(names) <= set(known):
        apart = "KEYS/VALUES" if parts == 2 else "KEYS/VALUES or SEMANTIC/GEOMETRIC/VALUES"
        raise UserError(f"cache_kind {text!r} is unknown: use one of {', '.join(known)}, or {apart}")
    if len(names) < parts:  # one name of keys stands for both of their parts
        names = [names[0]] * (parts - 1) + [names[-1]]
    return tuple(KVCacheTensorConfig(KVCacheKind(name)) for name in names)
