"""What the loop does with a gradient: its rate, its largest norm, and the noise of its seed."""

from pathlib import Path

import pytest
import torch

from tests.training.toy import ToyObjective, toy_identity
from training.distributed import World
from training.loop import Trainer, seed_all
from training.optimizer import lr_at


def trained(folder: Path, seed: int = 0, steps: int = 10, **settings) -> tuple[Trainer, torch.Tensor]:
    """A finished run, and how its embeddings moved; whatever its seed, it begins with the same."""
    folder.mkdir()
    seed_all(0, 0, 0)
    objective = ToyObjective(6)
    before = objective.model.embed.weight.detach().clone()
    trainer = Trainer(objective, toy_identity(steps, **settings) | {"seed": seed}, folder, World())
    trainer.run()
    return trainer, objective.model.embed.weight.detach() - before


def test_every_group_has_the_rate_of_its_step(tmp_path: Path) -> None:
    trainer, _ = trained(tmp_path / "run")
    rates = {group["lr"] for optimizer in trainer.optimizers for group in optimizer.param_groups}
    assert len(trainer.optimizers) == 2 and rates == {lr_at(9, trainer.config)}
    assert rates != {trainer.config.lr}


def test_a_gradient_is_no_longer_than_clip(tmp_path: Path) -> None:
    """AdamW moves by its full rate, unless gradients are below its epsilon."""
    plain = {"optimizer": "adamw", "weight_decay": 0.0, "steps": 5}
    _, far = trained(tmp_path / "far", clip=1.0, **plain)
    _, near = trained(tmp_path / "near", clip=1e-9, **plain)
    assert 0 < near.norm() < 0.2 * far.norm()


def test_noise_follows_the_seed(tmp_path: Path) -> None:
    moved = [trained(tmp_path / name, seed)[1] for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    assert torch.equal(moved[0], moved[1])
    assert not torch.allclose(moved[0], moved[2], atol=1e-4)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_step_learns_from_its_own_batch(prefetch: int, tmp_path: Path) -> None:
    objective, asked = ToyObjective(6), []
    batch = objective.batch
    objective.batch = lambda *where: asked.append(where) or batch(*where)
    identity = toy_identity(3, prefetch=prefetch, accumulate=2, validate_every=9)
    Trainer(objective, identity, tmp_path, World()).run()
    assert sorted(asked)[:-1] == [(step, part, 2) for step in range(3) for part in range(2)]
