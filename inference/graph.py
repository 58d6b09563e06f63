"""GraphStep: one token of each row in one launch of a recorded CUDA graph.

A step of a small Thinker is some hundred kernels of a few microseconds; starting each from Python
takes longer than running it. A CUDA graph is the same kernels recorded once and started together.
It replays addresses, not Python: so all that changes from step to step (ids, position, what may be
seen) lies in tensors that stay where they are, and attention reads the whole room of the cache
under a mask. Recorded by PyTorch, https://pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.cache import KVCache
from models.thinker import Thinker

if TYPE_CHECKING:
    from inference.config import GenerateConfig

Run = Callable[[], tuple[Tensor, Tensor]]
WARM_UPS = 3  # runs before the recording: libraries choose kernels and take their memory in them


class FixedCache:
    """A cache written at a position that a tensor tells, and read in full: no shape ever changes."""

    def __init__(self, cache: KVCache, position: Tensor) -> None:
        """`position` (1,) is where the next token goes."""
        self.stores = [[store.numbers for store in layer] for layer in cache.layers]
        self.position = position

    def update(self, layer: int, *new: Tensor) -> tuple[Tensor, ...]:
        """Store one position of a layer, each (B, H, 1, D) -> all its room, (B, H, max_len, D)."""
        for numbers, x in zip(self.stores[layer], new, strict=True):
            numbers.index_copy_(2, self.position, x.to(numbers.dtype))
        return tuple(self.stores[layer])


def cuda_graph(run: Run) -> Run:
    """Record `run`, which only launches kernels; calling what comes back runs them anew."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = run()

    def replay() -> tuple[Tensor, Tensor]:
        graph.replay()
        return outputs

    return replay


class GraphStep:
    """A Thinker's step bound to one cache, which already holds the prompt."""

    @torch.inference_mode()
    def __init__(
        self,
        thinker: Thinker,
        cache: KVCache,
        mask: Tensor | None,
        record: Callable[[Run], Run] = cuda_graph,
    ) -> None:
        """`mask` is bool (B, S), True for the real tokens so far; None: all are."""
        self.thinker, self.cache = thinker, cache
        device = thinker.model.embed_tokens.weight.device
        rows = cache.layers[0][0].numbers.shape[0]
        self.ids = torch.zeros(rows, 1, dtype=torch.long, device=device)  # (B, 1)
        self.position = torch.full((1,), cache.length, device=device)
        self.real = torch.ones(rows, cache.max_len, dtype=torch.bool, device=device)
        if mask is not None:
            self.real[:, : mask.shape[1]] = mask
        self.room = torch.arange(cache.max_len, device=device)  # (max_len,)
        self.fixed = FixedCache(cache, self.position)
        self.replay = record(self._run)

    def _run(self) -> tuple[Tensor, Tensor]:
        """The step itself -> logits (B, V) and the likeliest token of each row (B,)."""
        seen = self.real & (self.room <= self.position)  # (B, max_len)
        rope = self.thinker.rope(seen.sum(-1, keepdim=True) - 1)  # padding does not count
        x = self.thinker.embed(self.ids)  # (B, 1, hidden)
        hidden = self.thinker.through_layers(x, rope, seen[:, None, None], self.fixed)
        logits = self.thinker.logits(hidden[:, -1])  # (B, V)
        return logits, logits.argmax(-1)

    @torch.inference_mode()
    def __call__(self, tokens: list[int], mask: Tensor | None = None):
        """As `NativeStep`, for one token a row: logits (B, V), likeliest tokens, 0 seconds.

        `mask` is the constructor's with new tokens after it, so nothing in it is new. The time of
        the vocabulary's scores is not told apart from the rest: it is one launch.
        """
        self.cache.require(1)
        self.ids.copy_(torch.tensor(tokens)[:, None])
        self.position.fill_(self.cache.length)
        logits, likeliest = self.replay()
        self.cache.advance(1)
        return logits, likeliest.tolist(), 0.0


def graph_step(
    thinker: Thinker, cache: KVCache, config: "GenerateConfig", mask: Tensor | None
) -> GraphStep | None:
    """The recorded step where it serves: on a CUDA device, with a dense cache read in full."""
    weight = thinker.model.embed_tokens.weight
    dense = all(store.scales is None for layer in cache.layers for store in layer)
    if weight.device.type != "cuda" or config.native == "off" or cache.windows or not dense:
        return None
    return GraphStep(thinker, cache, mask)
