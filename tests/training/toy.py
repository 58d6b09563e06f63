"""A small objective for the loop's tests, and a process that trains it.

    python -m tests.training.toy RUN_DIR STEPS [--set key=value ...]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from training import distributed
from training.config import identity, parse_value
from training.loop import Stopped, Trainer, seed_all
from training.objective import Loss, slice_bounds

WIDTH = 16


class ToyModel(nn.Module):
    """Dropout, hidden matrices, an embedding, a running buffer: what resuming can get wrong."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.unused = nn.Linear(3, 3)
        self.head = nn.Linear(WIDTH, 1)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        x = self.embed(batch["ids"])  # (B, D)
        for layer in self.layers:
            x = x + self.dropout(torch.tanh(layer(x)))
        error = (self.head(x).squeeze(-1) - batch["target"]) ** 2 * batch["weight"]  # (B,)
        if self.training:
            self.seen += len(error)
        close = ((error < 0.1).sum(), len(error))
        return Loss(error.sum(), batch["weight"].sum(), {"close": close})


class ToyObjective:
    """Learns ids -> sin(ids). Items weigh differently, so a mean over slices would be wrong."""

    def __init__(self, batch_size: int, dropout: float = 0.2, pause: float = 0.0) -> None:
        self.model = ToyModel(dropout)
        self.batch_size, self.pause = batch_size, pause

    def item(self, index: int) -> tuple[int, float]:
        generator = torch.Generator().manual_seed(index)
        return int(torch.randint(10, (), generator=generator)), 1.0 + index % 3

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        time.sleep(self.pause)
        bounds = slice_bounds(self.batch_size, rank, world)
        items = [self.item(step * self.batch_size + i) for i in bounds]
        ids = torch.tensor([i for i, _ in items])
        weight = torch.tensor([w for _, w in items])
        return {"ids": ids, "target": torch.sin(ids.float()), "weight": weight}

    def validate(self) -> dict[str, float]:
        assert not self.model.training
        assert not torch.is_grad_enabled()
        loss = self.model(self.batch(10**6, 0, 1))
        return {"loss": float(loss.total / loss.weight)}

    def save(self, folder: Path) -> None:
        tensors = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        save_file(tensors, folder / "model.safetensors")


def toy_identity(steps: int, **train: Any) -> dict[str, Any]:
    """The identity of a toy run."""
    settings = {"steps": steps, "batch_size": 6, "lr": 0.01, "optimizer": "muon"}
    settings |= {"warmup_steps": 5, "validate_every": 10, "log_every": 5} | train
    return identity("toy", "nano", 0, {"train": settings})


def main() -> None:
    torch.set_num_threads(1)
    run_dir, steps = Path(sys.argv[1]), int(sys.argv[2])
    given = dict(pair.split("=") for pair in sys.argv[3:])
    settings = {key: parse_value(value) for key, value in given.items()}
    pause, dropout = settings.pop("pause", 0.0), settings.pop("dropout", 0.2)
    world = distributed.start("cpu")
    run_dir.mkdir(parents=True, exist_ok=True)
    seed_all(0, 0, 0)
    who = toy_identity(steps, **settings)
    try:
        Trainer(ToyObjective(6, dropout, pause), who, run_dir, world).run()
    except Stopped as stopped:
        print(json.dumps({"stopped": str(stopped)}))
        sys.exit(143)
    finally:
        distributed.stop()
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    assert "pt_gloo_runloop" not in threads  # it can abort the process when Python ends


if __name__ == "__main__":
    main()
