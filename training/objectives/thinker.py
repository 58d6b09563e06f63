"""Objective of the thinker stage: predict the next token of text and conversations.

What a user says and what thinking tells count less than a rationale and an answer: names, numbers and
pictures that are drawn at random teach little.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.corpus import CorpusOptions, build_corpus, load_tokens
from data.shards import same_settings
from data.turns import RATIONALE
from models.checkpoint import load_strict
from models.thinker import Thinker, ThinkerConfig
from models.tokenizer import Tokenizer
from training.objective import Loss, Paths, slice_bounds, to_device

DEV_ROWS = 32
GIVEN_WEIGHT = 0.2  # of a token of a user's turn or of thinking in the loss, beside 1 of all others
ANYWHERE = 0.25  # of the rows begin at any token, the others with a document: their questions are whole


def next_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Summed cross entropy in nats. logits (..., V), targets (...)."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), reduction="sum")


def given(ids: Tensor, opening: Tensor, others: Tensor) -> Tensor:
    """Whether the token after each is given to whoever answers. ids (B, T) -> (B, T)

    Args:
        opening: ids that open a user's turn or thinking.
        others: ids that open another's turn, a document or a rationale, and that which ends thinking.
    """
    places = torch.arange(ids.shape[1], device=ids.device)  # (T,)
    marks = (torch.isin(ids, opening), torch.isin(ids, others))
    opened, ended = (torch.where(mark, places, -1).cummax(1).values for mark in marks)  # latest, (B, T)
    return opened > ended


class ThinkerTask(nn.Module):
    """The Thinker with its loss: forward(batch) -> Loss, in nats per token.

    In training what is given has GIVEN_WEIGHT, and <think> none: whether to think is the caller's choice.
    """

    def __init__(self, config: ThinkerConfig, tokenizer: Tokenizer):
        super().__init__()
        self.thinker = Thinker(config)
        symbols, self.think = tokenizer.symbols, tokenizer.think
        opening = [symbols["<|user|>"], tokenizer.think]
        others = [tokenizer.bos, symbols["<|system|>"], symbols["<|assistant|>"], tokenizer.think_end]
        others.append(tokenizer.encode(RATIONALE)[0])
        self.register_buffer("opening", torch.tensor(opening), persistent=False)
        self.register_buffer("others", torch.tensor(others), persistent=False)

    def forward(self, batch: Tensor) -> Loss:
        ids, targets = batch[:, :-1], batch[:, 1:]  # (B, T) each
        logits = self.thinker(ids)  # (B, T, V)
        if not self.training:
            return Loss(next_token_loss(logits, targets), targets.numel())
        losses = F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="none")
        weights = torch.where(given(ids, self.opening, self.others), GIVEN_WEIGHT, 1.0)  # (B, T)
        weights = weights.masked_fill(targets == self.think, 0.0).flatten()
        return Loss((losses * weights).sum(), float(weights.sum()))


class ThinkerObjective:
    """Batches of the token stream, dev loss and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.tokenizer = Tokenizer(paths.need("tokenizer") / "tokenizer.model")
        self.model = ThinkerTask(ThinkerConfig(**config["model"]), self.tokenizer)
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        self.length = config["data"]["sequence_length"] + 1  # one more: targets are shifted
        self.streams = {
            split: load_tokens(paths.data / "corpus", split) for split in ("train", "dev")
        }
        self.begins = {  # where documents begin that a row can begin with
            split: np.flatnonzero(stream[: -self.length] == self.tokenizer.bos)
            for split, stream in self.streams.items()
        }

    def init_from(self, folder: Path) -> None:
        """Begin with a checkpoint's Thinker, omni or text alone, of the preset's sizes."""
        trained = Thinker.from_pretrained(folder)
        load_strict(self.model.thinker, trained.state_dict(), str(folder))
        self.model.thinker.folder = Path(folder)

    def rows(self, split: str, indices: range, seed: int) -> Tensor:
        """Stretches of the stream at random places; row i depends on (seed, i) alone. (B, T + 1)"""
        stream, begins = self.streams[split], self.begins[split]
        rows = []
        for i in indices:
            chance = np.random.default_rng([seed, i])
            anywhere = chance.random() < ANYWHERE or not len(begins)
            start = int(chance.integers(len(stream) - self.length) if anywhere else chance.choice(begins))
            rows.append(stream[start : start + self.length].astype(np.int64))
        return torch.from_numpy(np.stack(rows))

    def batch(self, step: int, rank: int, world: int) -> Tensor:
        bounds = slice_bounds(self.size, rank, world)
        first = step * self.size
        return self.rows("train", range(first + bounds.start, first + bounds.stop), self.seed)

    def validate(self) -> dict[str, float]:
        """Loss on unseen text, in nats per token."""
        rows = self.rows("dev", range(DEV_ROWS), seed=0)
        losses = [
            self.model(to_device(part, next(self.model.parameters()).device))
            for part in rows.split(self.size)
        ]
        return {"loss": float(sum(x.total for x in losses)) / sum(x.weight for x in losses)}

    def save(self, folder: Path) -> None:
        self.model.thinker.save_pretrained(folder)
        (folder / "tokenizer.model").write_bytes(self.tokenizer.path.read_bytes())


def prepare(config: dict, paths: Paths) -> None:
    """Make the token stream."""
    folder = paths.data / "corpus"
    options = CorpusOptions(**config["data"]["corpus"])
    if (folder / "meta.json").exists():  # written last
        made = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        now = json.loads(json.dumps(asdict(options))) | {"seed": config["seed"]}
        same_settings(folder, made["options"] | {"seed": made["seed"]}, now)
        return
    tokenizer = paths.need("tokenizer") / "tokenizer.model"
    extra = config["data"].get("extra")
    build_corpus(folder, tokenizer, options, paths.real, config["seed"], config["workers"], extra)


build = ThinkerObjective
