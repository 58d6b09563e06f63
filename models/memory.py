"""Memory bank: a frozen Thinker that reads learnt chapters by cross-attention.

After chosen blocks a router picks the top k of the bank's chapters, and every position attends to
their slots. Only the bank, the routers and the cross-attention are learnt, so that facts can be
added, shared and removed without touching the language model. Related: product-key memory
arXiv:1907.05242, RETRO arXiv:2112.04426, Switch Transformer's load balancing arXiv:2101.03961.
Where routing looks during generation is a strategy's business: inference/routing_strategies.py.
"""

import dataclasses
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.block import RMSNorm, Rope, causal_mask
from models.cache import KVCache
from models.checkpoint import (
    WEIGHTS,
    config_from_dict,
    load_strict,
    read_json,
    read_tensors,
)
from models.errors import UserError
from models.tensorstore import TensorStore
from models.thinker import Thinker, ThinkerConfig

STRATEGIES = ("sequence", "rolling", "token", "hybrid")
MEMORY_TYPE = "muomni_memory"  # model_type of a folder that holds a memory bank
PREFIX = "memory."  # of its tensors beside a Thinker's


@dataclass
class MemoryConfig:
    """Sizes of a memory bank and how it is routed; lengths in tokens, widths in channels."""

    num_chapters: int = 24
    chapter_size: int = 8  # slots of a chapter
    layers: list[int] = field(default_factory=lambda: [2, 4])  # blocks that memory follows
    top_k: int = 4  # chapters read at once
    num_heads: int = 4
    head_dim: int = 32
    balance_weight: float = 0.01  # of the load-balancing loss
    routing_strategy_train: str = "sequence"
    routing_strategy_inference: str = "hybrid"
    window_size: int = 32  # of rolling and hybrid routing

    def __post_init__(self) -> None:
        self.layers = list(self.layers)
        for name in ("num_chapters", "chapter_size", "top_k", "num_heads", "head_dim", "window_size"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise UserError(f"memory.{name} must be at least 1, not {getattr(self, name)!r}")
        if self.top_k > self.num_chapters:
            raise UserError(f"memory.top_k {self.top_k} is above num_chapters {self.num_chapters}")
        if self.routing_strategy_train != "sequence":
            raise UserError("memory.routing_strategy_train must be sequence: one route a question")
        if self.routing_strategy_inference not in STRATEGIES:
            raise UserError(
                f"memory.routing_strategy_inference {self.routing_strategy_inference!r} is unknown: "
                f"use {', '.join(STRATEGIES)}"
            )

    def check(self, thinker: ThinkerConfig) -> None:
        """Refuse layers that the Thinker does not have."""
        count = thinker.num_hidden_layers
        right = self.layers and len(set(self.layers)) == len(self.layers)
        if not right or not all(isinstance(i, int) and 0 <= i < count for i in self.layers):
            raise UserError(f"memory.layers {self.layers}: name some of the blocks 0 to {count - 1}")


class Route(NamedTuple):
    """Chapters that were chosen, and the scores they were chosen by."""

    indices: Tensor  # (B, k), or (B, T, k): each token its own
    weights: Tensor  # the same shape; they add up to 1
    logits: Tensor  # (B, C), or (B, T, C)


def mean_pool(states: Tensor, real: Tensor | None = None) -> Tensor:
    """Mean over positions, padding left out. (B, S, D), bool (B, S) -> (B, D)"""
    if real is None:
        return states.mean(1)
    kept = real[..., None].to(states.dtype)  # (B, S, 1)
    return (states * kept).sum(1) / kept.sum(1).clamp_min(1)


class ChapterRouter(nn.Module):
    """Scores every chapter from a (pooled) hidden state. (…, D) -> (…, C)"""

    def __init__(self, hidden_size: int, num_chapters: int):
        super().__init__()
        self.proj = nn.Linear(hidden_size, num_chapters, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        return self.proj(states)

    def pick(self, states: Tensor, top_k: int) -> Route:
        """The top k chapters and their weights. (…, D) -> Route of (…, k)"""
        logits = self(states)  # (…, C)
        best, indices = logits.topk(top_k, dim=-1)
        return Route(indices, best.float().softmax(-1), logits)


class SequenceRouting:
    """Routes on the mean of the whole context: one choice for a row. Training's way."""

    keeps_history = True  # whether it looks at positions before the new ones

    def __init__(self, router: ChapterRouter, top_k: int):
        self.router, self.top_k = router, top_k

    def choose(self, history: Tensor, new: int, real: Tensor | None = None) -> Route:
        """Chapters for the last `new` positions of `history` (B, S, D); real: bool (B, S)."""
        return self.router.pick(mean_pool(history, real), self.top_k)


class MemoryAttention(nn.Module):
    """Cross-attention to the slots of the chosen chapters.

    The router's weight of a chapter is a factor of the attention to its slots, so that routing
    learns by gradient. One score of zero with nothing behind it lets a position read nothing.
    """

    def __init__(self, config: MemoryConfig, hidden_size: int, eps: float):
        super().__init__()
        self.heads, self.head_dim = config.num_heads, config.head_dim
        width = config.num_heads * config.head_dim
        self.q_proj = nn.Linear(hidden_size, width, bias=False)
        self.k_proj = nn.Linear(hidden_size, width, bias=False)
        self.v_proj = nn.Linear(hidden_size, width, bias=False)
        self.o_proj = nn.Linear(width, hidden_size, bias=False)
        self.q_norm, self.k_norm = RMSNorm(config.head_dim, eps), RMSNorm(config.head_dim, eps)

    def forward(self, x: Tensor, bank: Tensor, route: Route) -> Tensor:
        """x (B, T, D), bank (C, M, D), route of (B, k) or (B, T, k) -> (B, T, D)"""
        B, T, _ = x.shape
        indices, weights = route.indices, route.weights
        if indices.dim() == 2:
            indices, weights = indices[:, None], weights[:, None]  # (B, 1, k)
        groups = indices.shape[1]  # T, or 1: positions that share a choice are one group
        slots = bank[indices].flatten(2, 3)  # (B, G, kM, D)
        split = (self.heads, self.head_dim)
        q = self.q_norm(self.q_proj(x).view(B, groups, T // groups, *split)).transpose(2, 3)
        k = self.k_norm(self.k_proj(slots).unflatten(-1, split)).transpose(2, 3)  # (B, G, H, kM, d)
        v = self.v_proj(slots).unflatten(-1, split).transpose(2, 3)  # (B, G, H, kM, d)
        scores = q @ k.transpose(-1, -2) * self.head_dim**-0.5  # (B, G, H, T / G, kM)
        prior = weights.clamp_min(1e-9).log().repeat_interleave(bank.shape[1], dim=-1)  # (B, G, kM)
        scores = scores.float() + prior[:, :, None, None]
        shares = F.pad(scores, (0, 1)).softmax(-1)[..., :-1].to(v.dtype)  # the zero is dropped
        out = (shares @ v).transpose(2, 3).reshape(B, T, -1)  # (B, T, H * d)
        return self.o_proj(out)


class MemoryLayer(nn.Module):
    """What follows one block: norm, router, cross-attention."""

    def __init__(self, config: MemoryConfig, hidden_size: int, eps: float):
        super().__init__()
        self.norm = RMSNorm(hidden_size, eps)
        self.router = ChapterRouter(hidden_size, config.num_chapters)
        self.attention = MemoryAttention(config, hidden_size, eps)


class MemoryBank(nn.Module):
    """The chapters, and the layers that read them."""

    def __init__(self, config: MemoryConfig, hidden_size: int, eps: float = 1e-6):
        super().__init__()
        self.config = config
        self.chapters = nn.Parameter(
            torch.randn(config.num_chapters, config.chapter_size, hidden_size)  # (C, M, D)
        )
        self.layers = nn.ModuleList(
            MemoryLayer(config, hidden_size, eps) for _ in config.layers
        )
        for layer in self.layers:  # the Thinker is unchanged until something is learnt
            nn.init.zeros_(layer.attention.o_proj.weight)


def shuffled(chapters: Tensor, seed: int = 0) -> Tensor:
    """A control: every channel's numbers dealt anew to the slots. (C, M, D) -> the same"""
    flat = chapters.detach().flatten(0, 1)  # (C * M, D)
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(flat.shape, generator=generator).argsort(0).to(flat.device)
    return flat.gather(0, order).view_as(chapters)


class MemoryAdapter(Thinker):
    """A Thinker with a memory bank. Compiled decoding does not know it and leaves it to PyTorch."""

    def __init__(self, config: ThinkerConfig, memory: MemoryConfig | None = None):
        super().__init__(config)
        self._remember(memory or MemoryConfig())

    @classmethod
    def around(cls, thinker: Thinker, memory: MemoryConfig) -> "MemoryAdapter":
        """A Thinker's own weights (shared, and frozen) with a new memory bank."""
        adapter = cls.__new__(cls)
        nn.Module.__init__(adapter)
        adapter.config, adapter.folder, adapter.int8 = thinker.config, thinker.folder, thinker.int8
        adapter.rounded_from = thinker.rounded_from
        for name, part in thinker.named_children():
            adapter.add_module(name, part.requires_grad_(False))
        adapter._remember(memory)
        return adapter.train(thinker.training)

    def _remember(self, memory: MemoryConfig) -> None:
        memory.check(self.config)
        self.memory = MemoryBank(memory, self.config.hidden_size, self.config.rms_norm_eps)
        weight = self.model.embed_tokens.weight
        self.memory.to(weight.device, weight.dtype)
        self.strategies = [SequenceRouting(r, memory.top_k) for r in self.routers.values()]

    @property
    def routers(self) -> dict[str, ChapterRouter]:
        """The router of each memory layer, by the layer's number from "0"."""
        return {str(i): layer.router for i, layer in enumerate(self.memory.layers)}

    def new_cache(self, batch: int, max_len: int | None = None, kind: str | None = None) -> KVCache:
        """The Thinker's, with room for what routing remembers of each memory layer."""
        cache = super().new_cache(batch, max_len, kind)
        weight = self.model.embed_tokens.weight
        shape = (batch, 1, cache.max_len, self.config.hidden_size)
        for strategy in self.strategies:
            if strategy.keeps_history:
                cache.layers.append((TensorStore(shape, None, weight.dtype, weight.device),))
        return cache

    def through_layers(
        self, x: Tensor, rope: Rope, mask: Tensor | None, cache: KVCache | None
    ) -> Tensor:
        real = None if mask is None else mask[:, 0, -1]  # (B or 1, S): what the last position sees
        return self._read(x, rope, mask, cache, real)[0]

    def routed_hidden(self, ids: Tensor, asked: Tensor) -> tuple[Tensor, list[Route]]:
        """For training: routing reads the question alone, never the answer.

        Args:
            ids: (B, T), padded on the right.
            asked: bool (B, T), True for the tokens that are routed on.

        Returns:
            Final hidden states (B, T, hidden), and the route of each memory layer.
        """
        T = ids.shape[1]
        rope = self.rope(torch.arange(T, device=ids.device))
        mask = causal_mask(T, T, ids.device)  # (1, 1, T, T)
        return self._read(self.embed(ids), rope, mask, None, asked)

    def _read(
        self, x: Tensor, rope: Rope, mask: Tensor | None, cache: KVCache | None, real: Tensor | None
    ) -> tuple[Tensor, list[Route]]:
        """All blocks and memory layers; `real` (B, S) says what may be routed on."""
        routes: list[Route] = []
        place = self.config.num_hidden_layers  # of the next routing history in the cache
        for i, block in enumerate(self.model.layers):
            x = block(x, rope, mask, cache, i)  # (B, T, hidden)
            if i not in self.memory.config.layers:
                continue
            number = self.memory.config.layers.index(i)
            layer, strategy = self.memory.layers[number], self.strategies[number]
            states = layer.norm(x)  # (B, T, hidden)
            history = states
            if cache is not None and strategy.keeps_history:
                (kept,) = cache.update(place, states[:, None])  # (B, 1, S, hidden)
                history, place = kept[:, 0], place + 1
            seen = None if real is None else real[:, -history.shape[1] :]
            routes.append(strategy.choose(history, states.shape[1], seen))
            x = x + layer.attention(states, self.memory.chapters.to(x.dtype), routes[-1])
        return self.model.norm(x), routes

    def saved_tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """The memory alone: the Thinker's weights are its own folder's business."""
        return {
            key: value.detach().to(dtype).cpu().contiguous()
            for key, value in self.state_dict().items()
            if key.startswith(PREFIX)
        }

    def config_values(self) -> dict:
        """The memory's sizes, and which Thinker it belongs to."""
        memory = dataclasses.asdict(self.memory.config)
        return {"model_type": MEMORY_TYPE, "base_model": fingerprint(self), "memory": memory}

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, name: str = WEIGHTS, thinker: Thinker | None = None
    ) -> "MemoryAdapter":
        """Load a memory folder onto the Thinker that it was trained on.

        Raises:
            UserError: no Thinker or another one; a file missing, corrupt or not fitting.
        """
        folder = Path(folder)
        values = read_json(folder / "config.json")
        if values.get("model_type") != MEMORY_TYPE:
            raise UserError(f"{folder} holds no memory bank (train one: python train.py memory)")
        if thinker is None:
            raise UserError(f"{folder}: a memory bank needs the Thinker that it was trained on")
        if values.get("base_model") != fingerprint(thinker):
            raise UserError(
                f"{folder} was trained on another Thinker than this one: "
                "train it anew with python train.py memory --init_from FOLDER"
            )
        config = config_from_dict(MemoryConfig, values.get("memory"), str(folder / "config.json"))
        adapter = cls.around(thinker, config)
        tensors = {k.removeprefix(PREFIX): v for k, v in read_tensors(folder, name).items()}
        load_strict(adapter.memory, tensors, str(folder / f"{name}.safetensors"))
        return adapter.eval()


def fingerprint(thinker: Thinker) -> str:
    """First 16 hex digits of the SHA-256 of a Thinker's weights in bf16, memory left out."""
    if thinker.rounded_from:
        return thinker.rounded_from
    digest = hashlib.sha256()
    for key, value in sorted(thinker.state_dict().items()):
        if not key.startswith(PREFIX):
            digest.update(value.detach().to("cpu", torch.bfloat16).contiguous().view(torch.int16).numpy())
    return digest.hexdigest()[:16]


def balance_loss(route: Route, num_chapters: int) -> Tensor:
    """Load-balancing loss of one choice a row: 1 where all chapters are used alike, up to C.

    Shares of rows that chose a chapter times its mean probability: Switch Transformer, equation 4.
    """
    chosen = F.one_hot(route.indices, num_chapters).sum(1).float()  # (B, C), k ones a row
    shares = chosen.mean(0) / route.indices.shape[-1]  # (C,)
    likely = route.logits.float().softmax(-1).mean(0)  # (C,)
    return num_chapters * (shares * likely).sum()
