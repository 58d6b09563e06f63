"""One tensor of a key-value cache: room for numbers, dense or block-quantised, by position."""

import copy

import torch
from torch import Tensor

from models.cachekind import KVCacheTensorConfig
from models.quantization import decode, encode


class TensorStore:
    """Room for `shape` = (B, H, max_len, D) numbers, written and read by position.

    Args:
        config: the number format; None keeps `dtype`.
        dtype: what quantised numbers are read as.

    Raises:
        UserError: D is no multiple of the format's block.
    """

    def __init__(
        self,
        shape: tuple[int, int, int, int],
        config: KVCacheTensorConfig | None,
        dtype: torch.dtype,
        device: str | torch.device,
    ):
        self.config, self.dtype = config, dtype
        one = encode(torch.zeros(1, 1, 1, shape[3], dtype=dtype), config)
        # The numbers; of quantised ones the codes, then their scales. Each (B, H, max_len, …)
        self.parts = [part.new_zeros(*shape[:3], part.shape[3], device=device) for part in one]

    @property
    def nbytes(self) -> int:
        """Bytes taken, scales included."""
        return sum(part.nbytes for part in self.parts)

    def taken(self, rows: Tensor, length: int, max_len: int) -> "TensorStore":
        """A copy with these rows (any of them several times), `length` positions and room for more."""
        other = copy.copy(self)
        other.parts = []
        for part in self.parts:
            room = part.new_zeros(len(rows), part.shape[1], max_len, part.shape[3])
            room[:, :, :length] = part[rows, :, :length]
            other.parts.append(room)
        return other

    def reorder(self, rows: Tensor, start: int, end: int) -> None:
        """Let row i hold what row `rows[i]` does from position `start` to `end`."""
        for part in self.parts:
            part[:, :, start:end] = part[rows, :, start:end]

    def write(self, x: Tensor, start: int) -> None:
        """Store x (B, H, T, D) from position `start` on."""
        for part, new in zip(self.parts, encode(x, self.config), strict=True):
            part[:, :, start : start + x.shape[2]] = new

    def read(self, start: int, end: int) -> Tensor:
        """Positions `start` to `end`. (B, H, end - start, D)"""
        return decode([part[:, :, start:end] for part in self.parts], self.config, self.dtype)
