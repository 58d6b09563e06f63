"""What is exported: some of the Thinker's layers with their state, and its LM head.

The layers are the Thinker's own modules, so their arithmetic is written once (models/block.py).
Only the cache differs: it hands attention all that a graph with fixed shapes can see.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.block import RMSNorm
from models.thinker import Thinker

VOCAB_CHUNK = 16_384  # rows: the largest dimension that the Neural Engine takes
VOCAB_PARTS = 4  # at least so many parts: the largest logit of each is looked for by itself


def layer_ranges(layers: int, chunks: int) -> tuple[tuple[int, int], ...]:
    """(first, after the last) layer of each chunk, as even as can be."""
    ends = [layers * i // chunks for i in range(chunks + 1)]
    return tuple(zip(ends, ends[1:]))


def vocabulary_parts(size: int) -> tuple[int, ...]:
    """Rows of each part of the vocabulary."""
    rows = min(VOCAB_CHUNK, -(-size // VOCAB_PARTS))
    return tuple(min(rows, size - start) for start in range(0, size, rows))


class StateInputs:
    """A cache for ONNX: what came before is an input, what is new an output."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.keys, self.values = keys, values  # (layers, Hkv, S, D)
        self.new_keys: list[Tensor] = []
        self.new_values: list[Tensor] = []

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """New keys and values (1, Hkv, T, D) behind those of the state. (1, Hkv, S + T, D)"""
        self.new_keys.append(k)
        self.new_values.append(v)
        past = self.keys[layer : layer + 1], self.values[layer : layer + 1]
        return torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)


class StateBuffers:
    """A cache for Core ML: new keys and values are written into the state, all of it is read."""

    def __init__(self, keys: Tensor, values: Tensor, position: Tensor, seq_len: int) -> None:
        self.keys, self.values = keys, values  # (layers, Hkv, S, D), fp16
        self.start, self.end = position, position + seq_len

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The state after it took new ones (1, Hkv, T, D). (1, Hkv, S, D)"""
        for state, new in (self.keys, k), (self.values, v):
            state[layer : layer + 1, :, self.start : self.end] = new.half()
        return self.keys[layer : layer + 1].to(k.dtype), self.values[layer : layer + 1].to(v.dtype)


class HalfNorm(nn.Module):
    """RMSNorm whose squares stay in fp16's range: x is divided by its largest component first."""

    EPSILON = 1e-6  # of a mean that is 1 / size at least, but for a vector of zeros

    def __init__(self, norm: RMSNorm) -> None:
        super().__init__()
        self.weight = norm.weight

    def forward(self, x: Tensor) -> Tensor:
        largest = x.abs().amax(-1, keepdim=True).clamp_min(1e-4)  # (…, 1); real ones are larger
        x = x / largest
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.EPSILON) * self.weight


def for_half(module: nn.Module) -> nn.Module:
    """Every RMSNorm in it becomes one that is safe in fp16; changes the module."""
    for name, child in module.named_children():
        if isinstance(child, RMSNorm):
            setattr(module, name, HalfNorm(child))
        else:
            for_half(child)
    return module


class Chunk(nn.Module):
    """Consecutive layers of the Thinker over `seq_len` positions; the last chunk normalises.

    Args:
        first, last: its layers, without `last`.
        length: positions of its state.
    """

    def __init__(self, thinker: Thinker, first: int, last: int, seq_len: int, length: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(thinker.model.layers[first:last])
        ends = last == thinker.config.num_hidden_layers
        self.norm = thinker.model.norm if ends else nn.Identity()
        self.seq_len, self.length = seq_len, length
        cosines, sines = thinker.rope(torch.arange(length))  # (1, 1, S, D) each
        self.register_buffer("cosines", cosines[0, 0])
        self.register_buffer("sines", sines[0, 0])

    def positions(self, position: Tensor) -> Tensor:
        """Where the new ones stand. (1,) -> (seq_len,)"""
        return position + torch.arange(self.seq_len, dtype=torch.int32)

    def run(self, hidden: Tensor, positions: Tensor, mask: Tensor, cache) -> Tensor:
        """All layers. (1, hidden, 1, seq_len) -> the same"""
        x = hidden.squeeze(2).transpose(1, 2)  # (1, T, hidden)
        rope = self.cosines[positions][None, None], self.sines[positions][None, None]
        for i, layer in enumerate(self.layers):
            x = layer(x, rope, mask, cache, i)  # (1, T, hidden)
        return self.norm(x).transpose(1, 2).unsqueeze(2)


class OnnxChunk(Chunk):
    """Reads its state as inputs, and returns the new positions' keys and values."""

    inputs = ("hidden_states", "position", "keys", "values")
    outputs = ("output", "new_keys", "new_values")

    def forward(self, hidden_states: Tensor, position: Tensor, keys: Tensor, values: Tensor):
        """(1, hidden, 1, T), (1,), twice (layers, Hkv, S, D) -> the first, twice (layers, Hkv, T, D)"""
        before = torch.arange(self.length, dtype=torch.int32) < position  # (S,)
        new = torch.ones(self.seq_len, self.seq_len, dtype=torch.bool).tril()  # (T, T)
        mask = torch.cat([before.expand(self.seq_len, -1), new], 1)[None, None]  # (1, 1, T, S + T)
        cache = StateInputs(keys, values)
        x = self.run(hidden_states, self.positions(position), mask, cache)
        return x, torch.cat(cache.new_keys), torch.cat(cache.new_values)


class CoreMLChunk(Chunk):
    """Holds its state in buffers, which Core ML keeps between calls."""

    inputs = ("hidden_states", "position")
    outputs = ("output",)

    def __init__(self, thinker: Thinker, first: int, last: int, seq_len: int, length: int) -> None:
        super().__init__(thinker, first, last, seq_len, length)
        c = thinker.config
        shape = last - first, c.num_key_value_heads, length, c.head_dim
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float16))
        for_half(self)

    def forward(self, hidden_states: Tensor, position: Tensor) -> Tensor:
        """(1, hidden, 1, T), (1,) -> (1, hidden, 1, T)"""
        positions = self.positions(position)  # (T,)
        keys = torch.arange(self.length, dtype=torch.int32)  # (S,)
        mask = (keys[None] <= positions[:, None])[None, None]  # (1, 1, T, S)
        cache = StateBuffers(self.keys, self.values, position[0], self.seq_len)
        return self.run(hidden_states, positions, mask, cache)


class LMHead(nn.Module):
    """Logits, with the largest and a stable log-sum-exp of each part of the vocabulary.

    Args:
        parts: rows of each of C parts.
    """

    inputs = ("hidden_states",)
    outputs = ("logits", "chunk_logsumexp_stable", "chunk_max")

    def __init__(self, thinker: Thinker, parts: tuple[int, ...]) -> None:
        super().__init__()
        weights = thinker.head_weight.detach().split(parts)
        self.weights = nn.ParameterList(nn.Parameter(part.clone()) for part in weights)

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(1, hidden, 1, T) -> (1, vocab, 1, T), twice (1, C, 1, T)"""
        x = hidden_states.squeeze(2).transpose(1, 2)  # (1, T, hidden)
        logits = [F.linear(x, weight) for weight in self.weights]  # (1, T, rows) each
        largest = [part.amax(-1, keepdim=True) for part in logits]  # (1, T, 1) each
        stable = [
            (part - top).exp().sum(-1, keepdim=True).log()
            for part, top in zip(logits, largest, strict=True)
        ]
        joined = (torch.cat(parts, -1).transpose(1, 2) for parts in (logits, stable, largest))
        return tuple(part.unsqueeze(2) for part in joined)
