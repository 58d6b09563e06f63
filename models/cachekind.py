"""How a KV cache stores keys and values: the kinds, and how a user names them. No torch here.

The block formats are llama.cpp's q8_0 and q4_0, and QLoRA's nf4 (arXiv:2305.14314).
"""

from dataclasses import dataclass
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


BITS = {"fp32": 32, "fp16": 16, "bf16": 16, "q8_0": 8, "q4_0": 4, "nf4": 4}  # of one number
SCALE_BITS = 16  # fp16, one a block


@dataclass(frozen=True)
class KVCacheTensorConfig:
    """How one of the two tensors, keys or values, is kept."""

    kind: KVCacheKind
    block: int = 32  # numbers that share a scale; quantised kinds only

    @property
    def quantised(self) -> bool:
        return BITS[self.kind] < 16

    def bytes_per_vector(self, head_dim: int) -> int:
        """Bytes of one head's key or value at one position."""
        scales = SCALE_BITS * head_dim // self.block if self.quantised else 0
        return (BITS[self.kind] * head_dim + scales) // 8


def parse_cache_kind(text: str) -> tuple[KVCacheTensorConfig, KVCacheTensorConfig]:
    """`q8_0` for both, or `q8_0/nf4` for keys and values apart."""
    names = text.split("/")
    known = [kind.value for kind in KVCacheKind]
    if len(names) > 2 or not set(names) <= set(known):
        raise UserError(
            f"cache_kind {text!r} is unknown: use one of {', '.join(known)}, or KEYS/VALUES"
        )
    keys, values = names[0], names[-1]
    return KVCacheTensorConfig(KVCacheKind(keys)), KVCacheTensorConfig(KVCacheKind(values))
