"""Objective of the expectation stage: what people say, as lines of text, learnt beside a finished Thinker.

A transcript is chosen by ears, table of words and Thinker (inference/spelling.py). The lines are those that
stage `words` has counted, in letters as ears spell, each by itself. The Thinker of the joint stage stays
as it is; only what is added to its matrices learns (models/expectation.py).
"""

from __future__ import annotations

import random
from pathlib import Path

from torch import Tensor, nn
from torch.func import functional_call

from data.speech.asr_corpus import hearing_text
from models.errors import UserError
from models.expectation import Expectation, expected
from models.letters import spoken_letters
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.objective import Loss, Paths, epoch_order, slice_bounds
from training.objectives.thinker import next_token_loss
from training.packing import pack_lessons
from training.spoken import line_lesson, load_lines

DEV_LINES = 400
DEV_SEED = 12
ASKED_SCENES = 1000  # of the development split, which its questions are about


class ExpectationTask(nn.Module):
    """The changes with their loss: forward(batch) -> Loss, in nats per token."""

    def __init__(self, thinker: Thinker):
        super().__init__()
        self.thinker = thinker.requires_grad_(False)
        self.expectation = Expectation.of(thinker)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        targets = batch["targets"]  # (R, L)
        changed = self.expectation.changed(self.thinker)
        packed = {"packed": batch["packed"]}
        logits = functional_call(self.thinker, changed, (batch["ids"],), packed)  # (R, L, V)
        return Loss(next_token_loss(logits, targets), (targets != -100).sum())


class ExpectationObjective:
    """Batches of lines, nats a word of unseen lines, and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        self.tokenizer = Tokenizer(paths.need("omni") / "tokenizer.model")
        self.model = ExpectationTask(Thinker.from_pretrained(paths.need("omni"), "thinker"))
        self.lines = load_lines(paths.need("words"))
        self.dev = dev_lines(paths.real)

    def init_from(self, folder: Path) -> None:
        """Go on from what a checkpoint expects, also where the joint stage's Thinker is a later one."""
        begun = Expectation.from_pretrained(folder, "expectation")
        if begun.config != self.model.expectation.config:
            raise UserError(f"--init_from {folder}: its expectation is of another Thinker's sizes")
        self.model.expectation.load_state_dict(begun.state_dict())
        self.model.expectation.move(Thinker.from_pretrained(folder, "thinker"), self.model.thinker)

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        lessons = []
        for place in slice_bounds(self.size, rank, world):
            epoch, at = divmod(step * self.size + place, len(self.lines))
            line = self.lines[epoch_order(self.seed, epoch, len(self.lines))[at]]
            lessons.append(line_lesson(self.tokenizer, line))
        return pack_lessons(lessons, self.tokenizer.pad)[0]

    def validate(self) -> dict[str, float]:
        """Nats a word of unseen lines, by kind."""
        judge = self.model.expectation.judge(self.model.thinker)
        return {
            kind: -sum(expected(judge, self.tokenizer, lines)) / sum(len(line.split()) for line in lines)
            for kind, lines in self.dev.items()
        }

    def save(self, folder: Path) -> None:
        self.model.expectation.save_pretrained(folder)


def dev_lines(real: Path | None) -> dict[str, list[str]]:
    """What is said in the development split, by kind."""
    rng = random.Random(DEV_SEED)
    folder = str(real) if real else None
    found: dict[str, list[str]] = {}
    for _ in range(DEV_LINES):
        said = hearing_text(rng, "dev", folder, ASKED_SCENES)
        found.setdefault(said["kind"], []).append(spoken_letters(said["text"]))
    return found


def prepare(config: dict, paths: Paths) -> None:
    """Nothing: stage `words` has left the lines."""


def build(config: dict, paths: Paths) -> ExpectationObjective:
    """The objective of stage `expectation`."""
    return ExpectationObjective(config, paths)
