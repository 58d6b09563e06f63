"""One step of decoding: a token of each row into the cache, by compiled code where there is some."""

from time import perf_counter
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inference.config import GenerateConfig
from inference.timing import Timing
from models.cache import KVCache
from models.thinker import Thinker

if TYPE_CHECKING:
    from inference.native.step import NativeStep


def find_native(
    thinker: Thinker, cache: KVCache, config: GenerateConfig, wait: bool = True
) -> "NativeStep | None":
    """The compiled pass where it serves. Without `wait`, none where it has yet to be compiled."""
    if config.native == "off":
        return None
    from inference.native.step import native_step

    return native_step(thinker, cache, config, wait)


def run_step(
    thinker: Thinker,
    native: "NativeStep | None",
    tokens: list[int],
    mask: Tensor | None,
    cache: KVCache,
    timing: Timing,
) -> tuple[Tensor, list[int] | None]:
    """Run one token of each row into the cache -> logits of what follows (B, V).

    Compiled code also says which token is the likeliest of each row (B,).
    """
    start = perf_counter()
    if native is not None:
        logits, likeliest, seconds = native(tokens, mask)
    else:
        with torch.inference_mode():
            ids = torch.tensor(tokens, device=thinker.model.embed_tokens.weight.device)
            hidden = thinker.hidden(thinker.embed(ids[:, None]), mask, cache)  # (B, 1, D)
            before = perf_counter()
            logits, likeliest = thinker.logits(hidden[:, -1]), None  # (B, V)
            seconds = perf_counter() - before
    timing.head += seconds
    timing.model += perf_counter() - start - seconds
    return logits, likeliest
