"""Running a network piece by piece: joined, the pieces equal the whole call.

It works wherever each output depends on a bounded neighbourhood of the input: a piece is run with
`reach` frames of its surroundings, and only what these settle is handed out. No state of the
network is kept, so any function of frames will do; the price is that surroundings run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor


@torch.no_grad()
def in_pieces(
    run: Callable[[Tensor], Tensor], chunks: Iterable[Tensor], reach: int, scale: int
) -> Iterator[Tensor]:
    """Chunks (..., t) -> outputs (..., t') whose concatenation is run(all chunks joined).

    Args:
        reach: input frames to either side that an output can depend on.
        scale: outputs for each input frame.
    """
    held, left = None, 0  # frames whose output is still owed, after `left` of context
    for chunk in chunks:
        held = chunk if held is None else torch.cat([held, chunk], -1)
        end = held.shape[-1] - reach  # frames up to here have all the context they need
        if end > left:
            yield run(held)[..., left * scale : end * scale]
            keep = min(end, reach)
            held, left = held[..., end - keep :], keep
    if held is not None:
        yield run(held)[..., left * scale :]
