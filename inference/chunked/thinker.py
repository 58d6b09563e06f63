"""A Thinker put together from exported chunks, in the place of the PyTorch one.

It has the methods that the token loop calls (`embed`, `new_cache`, `hidden`, `logits`), so chats,
sampling, beam search, speculative decoding and pictures work as ever. Prompts go through in blocks
of `seq_len` positions; the last is padded with its last token, which no real position looks at.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from inference.chunked.manifest import ChunkFiles, ChunkManifest
from inference.chunked.programs import Outputs, Program, open_program
from models.errors import UserError


@dataclass
class Row:
    """What the chunks keep of one sequence."""

    states: list[Any]  # of each chunk
    length: int = 0  # positions filled; padding on the left of a batch is not among them


class ChunkedCache:
    """States of B sequences: what `models.cache.KVCache` is to the PyTorch Thinker."""

    def __init__(self, thinker: ChunkedThinker, batch: int, max_len: int) -> None:
        self.thinker, self.batch, self.max_len = thinker, batch, max_len
        self.rows = [Row(thinker.new_states()) for _ in range(batch)]
        self.length = 0  # positions of the batch, padding included

    @property
    def windows(self) -> tuple:
        return ()

    @windows.setter
    def windows(self, windows: tuple) -> None:
        if any(window is not None for _, window in windows):
            raise UserError("chunks look at the whole context: a decode table with windows needs none")

    def window(self, positions: int) -> None:
        """How far back is looked: to the beginning."""

    def require(self, positions: int) -> None:
        """Refuse to go on where there is no room for so many more."""
        end = self.length + positions
        if end > self.max_len:
            raise UserError(f"KV cache is full: {end} positions wanted, capacity {self.max_len}")

    def taken(self, rows: Tensor, max_len: int) -> ChunkedCache:
        """A copy with these rows (R,), any of them several times."""
        other = copy.copy(self)
        other.batch, other.max_len = len(rows), max_len
        other.rows = [self._copied(self.rows[row]) for row in rows.tolist()]
        return other

    def reorder(self, rows: Tensor, start: int) -> None:
        """Let row i go on as row `rows[i]`; states are copied whole, also before position `start`."""
        self.rows = [self._copied(self.rows[row]) for row in rows.tolist()]

    def _copied(self, row: Row) -> Row:
        programs = self.thinker.chunks
        states = [
            program.copy_state(state, row.length)
            for program, state in zip(programs, row.states, strict=True)
        ]
        return Row(states, row.length)

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        dropped = max(0, self.length - length)
        self.length -= dropped
        for row in self.rows:
            row.length = max(0, row.length - dropped)

    def reset(self) -> None:
        """Forget everything."""
        self.truncate(0)


class ChunkedThinker(nn.Module):
    """The Thinker's surface over programs of ONNX Runtime or Core ML.

    Args:
        manifest: how it was cut.
        embeddings: (vocab, hidden).
        chunks: the programs in order.
        lm_head: the program of the vocabulary.
    """

    int8 = False
    folder: Path | None = None

    def __init__(
        self, manifest: ChunkManifest, embeddings: Tensor, chunks: list[Program], lm_head: Program
    ) -> None:
        super().__init__()
        self.manifest, self.config = manifest, manifest.config
        self.model = nn.Module()  # where the PyTorch one has its embeddings
        self.model.embed_tokens = nn.Embedding.from_pretrained(embeddings)
        self.chunks, self.lm_head = chunks, lm_head

    @classmethod
    def open(
        cls, files: ChunkFiles, manifest: ChunkManifest, cache_compiled: bool = False
    ) -> ChunkedThinker:
        """Open all programs.

        Raises:
            UserError: a file that cannot be read, or belongs to another model.
        """
        embeddings = read_embeddings(files.embeddings, manifest)
        chunks = [open_program(path, cache_compiled) for path in files.chunks]
        return cls(manifest, embeddings, chunks, open_program(files.lm_head, cache_compiled)).eval()

    def new_states(self) -> list[Any]:
        """Empty states, one a chunk."""
        shape = self.manifest.state_shape
        return [program.new_state(shape(i)) for i, program in enumerate(self.chunks)]

    def new_cache(
        self, batch: int, max_len: int | None = None, kind: str | None = None
    ) -> ChunkedCache:
        """Empty states of `batch` sequences, to be filled up to `max_len` (default: the context)."""
        if kind is not None:
            raise UserError(f"chunks keep numbers as they were exported: no cache_kind {kind}")
        limit = self.config.max_position_embeddings
        return ChunkedCache(self, batch, max_len or limit)  # of a batch, padding counted

    def embed(self, ids: Tensor) -> Tensor:
        """Token embeddings. (B, T) -> (B, T, hidden)"""
        return self.model.embed_tokens(ids)

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        cache: ChunkedCache | None = None,
    ) -> Tensor:
        """Log-probabilities of the next token (B, T, vocab), see `models.thinker.Thinker.forward`."""
        x = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        return self.logits(self.hidden(x, attention_mask, cache))

    @torch.no_grad()
    def hidden(
        self,
        inputs_embeds: Tensor,
        attention_mask: Tensor | None = None,
        cache: ChunkedCache | None = None,
    ) -> Tensor:
        """Final hidden states, each row by itself. (B, T, hidden) -> (B, T, hidden)

        A row whose context is full is done, while others of the batch go on: what it gets is zero.

        Args:
            attention_mask: (B, S), 1 for real tokens, padding on the left: it is left out.
            cache: read for the positions before these, and extended by them.
        """
        B, T, _ = inputs_embeds.shape
        cache = self.new_cache(B, T) if cache is None else cache
        cache.require(T)
        out = torch.zeros_like(inputs_embeds)
        for b, row in enumerate(cache.rows):
            real = slice(None)
            if attention_mask is not None:
                real = attention_mask[b, cache.length : cache.length + T].bool()  # (T,)
            new = inputs_embeds[b, real]  # (n, hidden)
            if self._has_room(row, len(new), alone=B == 1):
                out[b, real] = self._read(new, row)
        cache.length += T
        return out

    def _has_room(self, row: Row, new: int, alone: bool) -> bool:
        """Whether a row takes so many positions more; beside others it may be done, and read no token."""
        end, limit = row.length + new, self.manifest.max_context_length
        if end > limit and (alone or new > 1):
            raise UserError(f"KV cache is full: {end} positions wanted, capacity {limit}")
        return end <= limit

    def _read(self, x: Tensor, row: Row) -> Tensor:
        """Run new positions of one sequence through all chunks. (n, hidden) -> (n, hidden)"""
        if not len(x):  # all padding
            return x
        out = []
        for part in x.split(self.manifest.seq_len):
            block = self._columns(part)  # (1, hidden, 1, seq_len)
            for program, state in zip(self.chunks, row.states, strict=True):
                block = program.chunk(block, row.length, state)
            row.length += len(part)
            out.append(torch.from_numpy(block)[0, :, 0, : len(part)].T)  # (n, hidden)
        return torch.cat(out)

    def _columns(self, part: Tensor) -> np.ndarray:
        """Positions as columns, padded with the last. (n, hidden) -> (1, hidden, 1, seq_len)"""
        padding = part[-1:].expand(self.manifest.seq_len - len(part), -1)
        full = torch.cat([part, padding]).float()  # (seq_len, hidden)
        return np.ascontiguousarray(full.T[None, :, None].numpy())

    @torch.no_grad()
    def logits(self, hidden: Tensor) -> Tensor:
        """Log-probabilities of every token. (..., hidden) -> (..., vocab)

        As good as logits to whoever takes their softmax or their largest.
        """
        parts = hidden.reshape(-1, hidden.shape[-1]).split(self.manifest.seq_len)
        rows = [
            log_probabilities(self.lm_head.head(self._columns(part)))[: len(part)]
            for part in parts
        ]
        return torch.cat(rows).view(*hidden.shape[:-1], -1)


def log_probabilities(outputs: Outputs) -> Tensor:
    """Put the LM head's parts together: logits minus the log of the sum of all exponentials.

    Each of C parts of the vocabulary gives its largest logit, and the log-sum-exp of its logits
    minus that, which can neither overflow nor vanish in fp16.

    Returns:
        (seq_len, vocab).
    """
    logits = torch.from_numpy(outputs["logits"])[0, :, 0].float()  # (vocab, seq_len)
    stable = torch.from_numpy(outputs["chunk_logsumexp_stable"])[0, :, 0].float()  # (C, seq_len)
    largest = torch.from_numpy(outputs["chunk_max"])[0, :, 0].float()  # (C, seq_len)
    total = torch.logsumexp(stable + largest, dim=0)  # (seq_len,)
    return (logits - total).T


def read_embeddings(path: Path, manifest: ChunkManifest) -> Tensor:
    """The table of embeddings (vocab, hidden), stored in fp16, as fp32."""
    wanted = manifest.config.vocab_size, manifest.config.hidden_size
    try:
        table = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"{path} is no table of embeddings ({error})") from None
    if not isinstance(table, np.ndarray) or table.shape != wanted or table.dtype.kind != "f":
        shape = getattr(table, "shape", None)
        raise UserError(f"{path} has shape {shape}, but the chunks need numbers of shape {wanted}")
    return torch.from_numpy(table.astype(np.float32))
