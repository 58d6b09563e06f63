"""Objective of the memory stage: a frozen Thinker learns facts of an invented world in a memory bank.

Rows are questions for facts, some of them after other talk, and ordinary dialogues, so that the
bank is silent where it has nothing to say. Only the last answer of a row is learnt, and routing reads
only the question before it: what generation knows when it routes.
"""

from __future__ import annotations

import random
from pathlib import Path

import torch
from torch import Tensor, nn

from data.dialogue.conversation import sample_conversation
from data.invented_world import all_questions, facts, question
from models.errors import UserError
from models.memory import MemoryAdapter, MemoryConfig, balance_loss, shuffled
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.objective import ROOT, Loss, Paths, slice_bounds, to_device
from training.objectives.thinker import next_token_loss

IGNORED = -100  # target of a token that is not learnt
LONGEST = 160  # tokens of a row
AFTER_TALK = 0.25  # of the questions for facts come after another question
DEV_ROWS = 64  # run at once


def base_folder(paths: Paths) -> Path:
    """The checkpoint whose Thinker is given a memory: this recipe's, or the one that ships."""
    shipped = ROOT / "checkpoints" / f"omni_sft_{paths.preset}"
    for folder in (paths.final("omni"), paths.final("thinker"), shipped):
        if (folder / "config.json").is_file():
            return folder
    raise UserError(
        f"no Thinker to give a memory: run `python train.py omni --preset {paths.preset}` first, "
        "or name a checkpoint by --init_from"
    )


class MemoryTask(nn.Module):
    """The adapter with its loss: forward(batch) -> Loss, in nats per token of answers."""

    def __init__(self, adapter: MemoryAdapter):
        super().__init__()
        self.adapter = adapter

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        hidden, routes = self.adapter.routed_hidden(batch["ids"], batch["asked"])  # (B, T, hidden)
        learnt = batch["targets"] != IGNORED  # (B, T)
        targets = batch["targets"][learnt]  # (n,)
        logits = self.adapter.logits(hidden[learnt])  # (n, V)
        loss, config = next_token_loss(logits, targets), self.adapter.memory.config
        balance = sum(balance_loss(route, config.num_chapters) for route in routes) / len(routes)
        hits = (logits.argmax(-1) == targets).sum()
        count = len(targets)
        total = loss + count * config.balance_weight * balance
        return Loss(total, count, {"answers": loss.detach(), "balance": balance.detach() * count,
                                   "right": hits})  # fmt: skip


class MemoryObjective:
    """Rows of facts and dialogues, dev figures and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.memory = MemoryConfig(**config["model"])
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        self.facts = config["data"]["facts"]  # share of the rows
        if not 0.0 < self.facts <= 1.0:
            raise UserError(f"data.facts must be above 0 and at most 1, not {self.facts}")
        self.begin(base_folder(paths))

    def begin(self, folder: Path) -> None:
        """A new memory beside the Thinker of a checkpoint."""
        self.base = folder
        self.tokenizer = Tokenizer(folder / "tokenizer.model")
        self.model = MemoryTask(MemoryAdapter.around(Thinker.from_pretrained(folder), self.memory))

    init_from = begin

    def row(self, messages: list[dict]) -> dict[str, list]:
        """Ids of a dialogue, the targets of its last answer, and which tokens ask for it."""
        ids, mask = self.tokenizer.encode_chat_targets(messages)
        begin = len(mask) - mask[::-1].index(0)  # of the last answer: after the assistant's symbol
        before = [i for i, learnt in enumerate(mask[:begin]) if learnt]
        first = before[-1] + 1 if before else 0  # after the answer before
        targets = [IGNORED] * (begin - 1) + ids[begin:] + [IGNORED]  # shifted by one
        asked = [first <= i < begin for i in range(len(ids))]
        return {"ids": ids, "targets": targets, "asked": asked}

    def fact_row(self, rng: random.Random, split: str) -> dict[str, list]:
        """A question for a fact, now and then after other talk."""
        fact = rng.choice(facts())
        messages = self.talk(rng, split, 1) if rng.random() < AFTER_TALK else []
        messages += exchange(question(fact, rng, split), fact.answer)
        return self.row(messages)

    def talk(self, rng: random.Random, split: str, turns: int) -> list[dict]:
        """The beginning of an ordinary dialogue."""
        messages = sample_conversation(rng, split)["messages"]
        system = messages[0]["role"] == "system"
        return messages[: 2 * turns + system]

    def draw(self, rng: random.Random, split: str) -> dict[str, list]:
        """One row, not too long."""
        while True:
            if rng.random() < self.facts:
                row = self.fact_row(rng, split)
            else:
                row = self.row(self.talk(rng, split, rng.choice((1, 1, 2, 3))))
            if len(row["ids"]) <= LONGEST:
                return row

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        places = slice_bounds(self.size, rank, world)
        rngs = [random.Random(f"memory-{self.seed}-{step}-{place}") for place in places]
        return collate([self.draw(rng, "train") for rng in rngs], self.tokenizer.pad)

    def validate(self) -> dict[str, float]:
        """Share of facts answered right, every token of them, in dev's wordings; dialogues' loss."""
        asked = [self.row(exchange(text, fact.answer)) for fact, text in all_questions("dev")]
        rngs = [random.Random(f"memory-dev-{i}") for i in range(DEV_ROWS)]
        talk = [self.row(self.talk(rng, "dev", 1)) for rng in rngs]
        loss, tokens = 0.0, 0.0
        for batch in self.batches(talk):
            made = self.model(batch)
            loss, tokens = loss + float(made.logs["answers"]), tokens + float(made.weight)
        adapter = self.model.adapter
        chapters = adapter.memory.chapters.detach().clone()
        figures = {"facts": self.exact(asked)}
        adapter.memory.chapters.copy_(shuffled(chapters))
        figures["facts_shuffled_bank"] = self.exact(asked)
        adapter.memory.chapters.copy_(chapters)
        return figures | {"talk_loss": loss / tokens}

    def batches(self, rows: list[dict]) -> list[dict[str, Tensor]]:
        """Rows by the batch, where the model is."""
        device = next(self.model.parameters()).device
        parts = [rows[i : i + DEV_ROWS] for i in range(0, len(rows), DEV_ROWS)]
        return [to_device(collate(part, self.tokenizer.pad), device) for part in parts]

    def exact(self, rows: list[dict]) -> float:
        """Share of rows whose every answer token is the greedy choice."""
        right = 0
        for batch in self.batches(rows):
            hidden, _ = self.model.adapter.routed_hidden(batch["ids"], batch["asked"])
            learnt = batch["targets"] != IGNORED  # (B, T)
            hits = ~learnt
            chosen = self.model.adapter.logits(hidden[learnt]).argmax(-1)
            hits[learnt] = chosen == batch["targets"][learnt]
            right += int(hits.all(1).sum())
        return right / len(rows)

    def save(self, folder: Path) -> None:
        self.model.adapter.save_pretrained(folder)


def exchange(asked: str, answer: str) -> list[dict]:
    """A user message and the reply to it."""
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]


def collate(rows: list[dict[str, list]], pad: int) -> dict[str, Tensor]:
    """Rows padded on the right: what is read never sees the padding. Three of (B, T)"""
    width = max(len(row["ids"]) for row in rows)
    fills = {"ids": pad, "targets": IGNORED, "asked": False}
    return {
        name: torch.tensor([row[name] + [fill] * (width - len(row[name])) for row in rows])
        for name, fill in fills.items()
    }


def prepare(config: dict, paths: Paths) -> None:
    """Nothing to make: rows are drawn as they are needed."""


build = MemoryObjective
