"""The training loop: every stage is trained here, and nothing of a stage is known here.

A run is a pure function of its settings and seed: batches come from (step, slice), and all RNGs are
seeded from (seed, step, slice) before each forward. So a run that was killed and resumed ends with
the weights of one that was not, bit for bit, on the same machine and number of threads.
It refuses to go on after a gradient that is not finite, and with a run of other settings.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.progress import progress
from models.audio import StridedConv
from models.block import Block
from models.errors import UserError
from models.files import replace_folder
from models.processor import multiplies_bfloat16
from models.vision import ConvBlock, Downsample
from training import state
from training.config import TrainConfig, check_same
from training.distributed import World, no_sync, parallelise, unwrap
from training.log import RunLog, Sums, means
from training.objective import Objective, to_device
from training.optimizer import decay_start, lr_at, make_optimizers, set_lr
from training.provenance import training_record, with_sitting
from training.state import STABLE, STATE

FIRST = 20  # steps whose losses the record tells


PICTURE = (ConvBlock, Downsample)
COMPILED = (Block, *PICTURE, StridedConv)  # where the time goes


class Stopped(Exception):
    """The run was told to stop by a signal; its state is saved."""


class Trainer:
    """One run of one objective. `identity` is `training.config.identity(...)`."""

    def __init__(
        self, objective: Objective, identity: dict[str, Any], run_dir: Path, world: World
    ) -> None:
        self.objective, self.identity, self.run_dir, self.world = objective, identity, run_dir, world
        self.config = TrainConfig(**identity["train"])
        self.half = self.config.dtype == "bfloat16" and multiplies_bfloat16(world.device)
        self.model = objective.model.to(world.device)
        self.step, self.seconds, self.started = 0, 0.0, time.time()
        sittings: list[dict[str, Any]] = []
        self.first_losses: list[float] = []
        path = resume_point(run_dir, identity)
        if path is not None:
            state.load_model(path, self.model)
        self.wrapped = parallelise(self.model, self.config.parallel, world)
        self.model = unwrap(self.wrapped)
        if self.config.compile:
            compile_blocks(self.model.get_submodule(getattr(objective, "fixed_shapes", "")))
        self.optimizers = make_optimizers(self.model, self.config)
        self.parameters = [p for o in self.optimizers for g in o.param_groups for p in g["params"]]
        if path is not None:
            state.load_optimizers(path, self.model, self.optimizers)
            note = state.read_note(path)
            self.step, self.seconds, self.started = note["step"], note["seconds"], note["started"]
            sittings, self.first_losses = note.get("sittings", []), note.get("first_losses", [])
        self.sittings = with_sitting(sittings, self.step, world.device)
        self.sums = Sums()
        self.signal = 0
        self.clock = time.monotonic()  # since when `seconds` has not been added to
        self.saved = time.monotonic()
        self.logged = (self.step, time.monotonic())

    def run(self) -> None:
        """Trains to the last step, then writes `final/`. Raises Stopped at SIGTERM or SIGINT."""
        config, first = self.config, self.world.first
        log = RunLog(self.run_dir, self.step) if first else None
        if first and config.dtype == "bfloat16" and not self.half:
            print("this processor has no instructions for bfloat16: all is computed in float32")
        start, bar = self.step, None
        handlers = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            bar = progress(
                total=config.steps,
                initial=self.step,
                desc=self.identity["stage"],
                disable=not first,
                mininterval=0.5 if sys.stderr.isatty() else 20.0,  # seconds
            )
            self.model.train()
            for slices in self._batches(start, config.steps):
                if self.step == decay_start(config):
                    self._save(STABLE)
                stop = self._train_step(slices)
                bar.update()
                if self.step % config.log_every == 0 or self.step == config.steps:
                    self._log(log, bar)
                if self.step % config.validate_every == 0 or self.step == config.steps:
                    self._validate(log, bar)
                if stop:
                    raise Stopped(f"stopped at step {self.step} of {config.steps}; state saved")
            self._save(STATE)
            self._finish()
        finally:
            if bar is not None:
                bar.close()
            if log is not None:
                log.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _batches(self, start: int, stop: int) -> Iterator[list[Any]]:
        """This process's slices of each step, made ahead by `prefetch` threads."""
        count = self.config.accumulate
        slices = self.world.size * count

        def make(step: int) -> list[Any]:
            mine = range(self.world.rank * count, (self.world.rank + 1) * count)
            return [self.objective.batch(step, i, slices) for i in mine]

        if self.config.prefetch == 0:
            yield from map(make, range(start, stop))
            return
        with ThreadPoolExecutor(self.config.prefetch) as pool:
            ahead: deque = deque()
            for step in range(start, stop):
                while len(ahead) < self.config.prefetch and step + len(ahead) < stop:
                    ahead.append(pool.submit(make, step + len(ahead)))
                yield ahead.popleft().result()

    def _train_step(self, slices: list[Any]) -> bool:
        """One update; saves when it is time. Returns whether the run must stop."""
        weight = total = 0.0
        for i, batch in enumerate(slices):
            seed_all(self.identity["seed"], self.step, self.world.rank * len(slices) + i)
            with no_sync(self.wrapped, last=i == len(slices) - 1):
                with self._autocast():
                    loss = self.wrapped(to_device(batch, self.world.device))
                loss.total.backward()
            weight, total = weight + float(loss.weight), total + float(loss.total.detach())
            self.sums.add("loss", loss.total.detach(), loss.weight)
            for name, value in loss.logs.items():
                pair = value if isinstance(value, tuple) else (value, loss.weight)
                self.sums.add(name, *pair)
        due = time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes
        flags = [weight, total, float(self.signal > 0), float(due and self.world.first)]
        weight, total, stop, due = self.world.sum(flags)
        self._update(weight)
        if self.step < FIRST:
            self.first_losses.append(round(total / weight, 6))
        self.step += 1
        if stop or due:
            self._save(STATE)
        return bool(stop)

    def _update(self, weight: float) -> None:
        """Gradients so far are of a sum over items (a mean over processes of it): divide, apply."""
        grads = [p.grad for p in self.parameters if p.grad is not None]
        if weight <= 0 or not grads:
            raise UserError(f"step {self.step}: the batch has nothing to learn from (weight 0)")
        torch._foreach_mul_(grads, self.world.size / weight)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.clip)
        norm = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        if not np.isfinite(norm):
            raise UserError(
                f"step {self.step}: the gradient is not finite; the state of an earlier step is in "
                f"{self.run_dir}. Lower train.lr and begin anew with --restart"
            )
        self.sums.add("grad_norm", norm / self.world.size, 1 / self.world.size)
        set_lr(self.optimizers, lr_at(self.step, self.config))
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def _log(self, log: RunLog | None, bar) -> None:
        values = means(self.world.gather(self.sums.numbers()))
        (step, then), now = self.logged, time.monotonic()
        self.logged = (self.step, now)
        if log is not None:
            values["lr"] = lr_at(self.step - 1, self.config)
            values["step_seconds"] = (now - then) / (self.step - step)
            log.write(self.step, "train", values)
            bar.set_postfix(loss=f"{values['loss']:.4f}", refresh=False)

    def _validate(self, log: RunLog | None, bar) -> None:
        self._refresh()
        with torch.no_grad():
            if log is not None:
                with self._autocast():
                    values = {k: float(v) for k, v in self.objective.validate().items()}
                log.write(self.step, "dev", values)
                shown = ", ".join(f"{k} {v:.4g}" for k, v in values.items())
                bar.write(f"{self.identity['stage']} step {self.step}: dev {shown}", sys.stderr)
            self.world.barrier()
        self.model.train()
        self.logged = (self.step, time.monotonic())

    def _refresh(self) -> None:
        """Makes the objective's model the trained one, in eval mode."""
        if self.model is not self.objective.model:
            state.copy_weights(self.model, self.objective.model)
        self.objective.model.eval()

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.world.device.type, torch.bfloat16, enabled=self.half)

    def _save(self, name: str) -> None:
        tensors = state.gather(self.model, self.optimizers)
        if self.world.first:
            state.write(self.run_dir / name, tensors, self._note())
        self.saved = time.monotonic()

    def _note(self) -> dict[str, Any]:
        now = time.monotonic()
        self.seconds, self.clock = self.seconds + now - self.clock, now
        return {
            "identity": self.identity,
            "step": self.step,
            "seconds": round(self.seconds, 3),
            "started": self.started,
            "sittings": self.sittings,
            "first_losses": self.first_losses,
        }

    def _finish(self) -> None:
        """Writes `final/` beside its place and renames it in."""
        fresh = self.run_dir / "final.new"
        self._refresh()
        with torch.no_grad():
            if self.world.first:
                shutil.rmtree(fresh, ignore_errors=True)
                fresh.mkdir()
                self.objective.save(fresh)
                record = training_record(self._note(), self.world, self.half)
                (fresh / "training.json").write_text(json.dumps(record, indent=1) + "\n")
                replace_folder(fresh, self.run_dir / "final")
            self.world.barrier()

    def _on_signal(self, number: int, frame: object) -> None:
        self.signal = number
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once


def compile_blocks(model: torch.nn.Module) -> None:
    """Compiles every block in place.

    Blocks are all alike, so this fuses most of a network's small operations for a fraction of the
    compile time of the whole. A size that changes from batch to batch is compiled as a variable
    when it changes first; pictures are of one size, and the compiler fails on some that vary.
    """
    torch._dynamo.config.recompile_limit = 64
    for module in model.modules():
        if isinstance(module, COMPILED):
            module.compile(dynamic=False if isinstance(module, PICTURE) else None)


def resume_point(run_dir: Path, identity: dict[str, Any]) -> Path | None:
    """The state file to go on from, if any.

    When `steps` grew and the newest state is already in the decay of the shorter run, the longer
    run goes on from the state before the decay: it ends as if it had been asked for at first.
    """
    newest = run_dir / STATE
    note = state.read_note(newest)
    if note is None:
        return None
    check_same(note["identity"], identity, run_dir)
    old, steps = TrainConfig(**note["identity"]["train"]), identity["train"]["steps"]
    if steps > old.steps and note["step"] > decay_start(old) and (run_dir / STABLE).exists():
        return run_dir / STABLE
    if note["step"] > steps:
        raise UserError(
            f"{run_dir} is at step {note['step']} already, beyond --steps {steps}: "
            "ask for more steps, or begin anew with --restart"
        )
    return newest


def seed_all(seed: int, step: int, part: int) -> None:
    """Seeds torch, numpy and random for one slice of one step."""
    words = np.random.SeedSequence((seed, step, part)).generate_state(3)
    torch.manual_seed(int(words[0]))
    np.random.seed(words[1])
    random.seed(int(words[2]))
