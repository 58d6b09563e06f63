"""What a training stage is, to the loop: a model whose forward is its loss, and a pure batch function.

A stage lives in `training/objectives/<stage>.py`, which has two names to call:

    prepare(config: dict, paths: Paths) -> None      makes the data that is missing (resumable)
    build(config: dict, paths: Paths) -> Objective   the model, and how to feed, measure and save it

`config` is the stage's section of `configs/<preset>.yaml` (`config["model"]`, `config["train"]`,
`config["data"]`) with `config["seed"]`, `config["preset"]` and `config["workers"]` (processes for
making data) added. Torch's RNG is seeded before `build`, so initial weights follow the seed.
A stage that needs an earlier one opens `paths.need("tokenizer")`, and has it in `NEEDS`.

It refuses to know about optimisers, devices, precision or processes: the loop does those.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from models.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
STAGES = ("tokenizer", "thinker", "vision", "audio", "codec", "vocoder", "talker", "omni")
EXTRA = ("memory",)  # options beside the recipe: trained where they are named, not by `all`
NEEDS = {  # stages whose artefacts one begins with
    "thinker": ("tokenizer",), "vision": ("thinker",), "audio": ("thinker",), "vocoder": ("codec",),
    "talker": ("codec",), "omni": ("thinker", "vision", "audio"),
}
COUNTED = {"tokenizer"}  # no loop: it counts

OWN_LOGIT = 10.0  # logit of a word for its own embedding: e^10 outweighs thousands of other words

Number = float | Tensor  # a 0-d tensor is welcome: it is read only when a log line is written


@dataclass
class Loss:
    """The loss of one slice of a batch, as SUMS, so that slices add up to the whole batch.

    total:  sum over the slice's items, with grad. The loop divides gradients by the weight of
            the whole global batch. A term that is a mean must be multiplied by `weight`.

    weight: how many items `total` sums over (tokens, frames, …); 0 is allowed for a slice.

    logs:   detached sums to log. A plain value is divided by `weight`, a pair (sum, count) by its
            own count: some metrics count other things than the loss does.
    """

    total: Tensor
    weight: Number
    logs: dict[str, Number | tuple[Number, Number]] = field(default_factory=dict)


class Objective(Protocol):
    """One stage, as the loop sees it."""

    model: nn.Module
    """`forward(batch) -> Loss`. Holds every parameter and ALL state that changes in training (as
    parameters or persistent buffers): that is what makes a resumed run equal an unbroken one.
    Parameters with `requires_grad=False` stay fixed. Linear weights under a module list named
    `layers` or `blocks` are Muon's; everything else is AdamW's."""

    # Optional, `init_from(folder)`: begins with the weights of an omni checkpoint (--init_from).

    # Optional, `fixed_shapes: str`: the submodule of `model` that `compile: true` compiles, where
    # only some of it sees inputs of few shapes. Without it, all blocks of `model` are compiled.

    def batch(self, step: int, rank: int, world: int) -> Any:
        """Slice `rank` of `world` of the global batch of `step`: tensors (CPU) in dicts and lists.

        A PURE function of its arguments and the seed (own generators, no global RNG; it may be
        called ahead, from a thread). The slices of any `world` together are the same items as
        `batch(step, 0, 1)`; the loop uses more slices than processes to accumulate gradients.
        """

    def validate(self) -> dict[str, float]:
        """Dev figures, in seconds. Called in eval mode without grad, on one process only; it calls
        `self.model` itself and moves its tensors with `to_device`."""

    def save(self, folder: Path) -> None:
        """Writes the stage's artefacts (`save_pretrained`, …) into an existing empty folder."""


@dataclass(frozen=True)
class Paths:
    """Where things are: generated data, training runs, and real data (None when there is none)."""

    data: Path
    runs: Path
    real: Path | None
    preset: str = "tiny"

    @classmethod
    def of(
        cls, preset: str, data: Path | None = None, runs: Path | None = None,
        real: Path | None = None,
    ) -> Paths:
        """Where a preset's things are unless said otherwise."""
        return cls(data or ROOT / "build" / "data" / preset, runs or ROOT / "runs" / preset, real,
                   preset)

    def final(self, stage: str) -> Path:
        """The folder a finished stage leaves its artefacts in."""
        return self.runs / stage / "final"

    def need(self, stage: str) -> Path:
        """`final(stage)`, or a UserError that names the command which makes it."""
        folder = self.final(stage)
        if not folder.is_dir():
            raise UserError(
                f"{folder} is missing: run `python train.py {stage} --preset {self.preset}` first"
            )
        return folder


def load_stage(stage: str) -> ModuleType:
    """The module `training/objectives/<stage>.py`."""
    if stage not in STAGES + EXTRA:
        raise UserError(f"unknown stage '{stage}': choose one of {', '.join(STAGES + EXTRA)}, all")
    return importlib.import_module(f"training.objectives.{stage}")


def slice_bounds(batch_size: int, rank: int, world: int) -> range:
    """The items of the global batch that are slice `rank` of `world` (sizes differ by one at most).

    Item i of step s is item `s * batch_size + i` of the stream, so `batch` is usually:
        [self.item(step * B + i) for i in slice_bounds(B, rank, world)]
    """
    return range(batch_size * rank // world, batch_size * (rank + 1) // world)


@lru_cache(maxsize=8)
def epoch_order(seed: int, epoch: int, count: int) -> np.ndarray:
    """The order (count,) in which an epoch goes through its items, each epoch its own."""
    return np.random.default_rng([seed, epoch]).permutation(count)


def likeness_scale(table: Tensor) -> float:
    """What a product with an embedding of `table` (V, hidden) is multiplied by to be a logit.

    So that a vector equal to an embedding gets OWN_LOGIT for it, on average.
    """
    return OWN_LOGIT / float(table.square().sum(1).mean())


def to_device(batch: Any, device: Any) -> Any:
    """Moves the tensors of nested dicts, lists and tuples."""
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: to_device(value, device) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return type(batch)(to_device(value, device) for value in batch)
    return batch
