"""From a stage's name and settings to its finished folder. Refuses to train what is finished."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from models.checkpoint import read_json, write_json
from models.errors import UserError
from models.lora import LoraConfig, add_lora, save_lora
from models.thinker import Thinker
from training.config import check_same, identity
from training.distributed import World
from training.loop import Trainer, seed_all
from training.objective import COUNTED, NEEDS, Objective, Paths, load_stage
from training.provenance import with_sitting
from training.state import STABLE, STATE

ADAPTED = ("thinker", "omni")  # stages that can learn a LoRA adapter instead of the weights


@dataclass(frozen=True)
class Request:
    """One stage to run."""

    stage: str
    preset: str
    section: dict[str, Any]
    paths: Paths
    seed: int
    workers: int  # processes for making data
    restart: bool
    init_from: Path | None = None  # an omni checkpoint whose weights the stage begins with


def run_stage(request: Request, world: World) -> None:
    """Makes the stage's data, trains it (or goes on training it) and writes `final/`."""
    stage, run_dir = request.stage, request.paths.runs / request.stage
    module = load_stage(stage)
    if world.first:
        run_dir.mkdir(parents=True, exist_ok=True)
    world.barrier()
    who = identity(stage, request.preset, request.seed, request.section)
    if request.init_from is not None:
        if not hasattr(getattr(module, "build", None), "init_from"):
            raise UserError(f"--init_from: stage {stage} begins anew or from the stages before it")
        who["init_from"] = str(request.init_from)
    if not request.restart and finished(run_dir, who):
        if world.first:
            print(f"{stage}: finished already ({run_dir / 'final'}); --restart trains it anew")
        return
    for earlier in NEEDS.get(stage, ()):
        request.paths.need(earlier)  # before data are made, which may take hours
    extra = {"seed": request.seed, "preset": request.preset, "workers": request.workers}
    config = request.section | extra
    if stage in COUNTED:
        if world.first:
            module.run(config, request.paths)
            record = who | {"command": " ".join(sys.argv), "sittings": with_sitting([], 0, world.device)}
            write_json(run_dir / "final" / "training.json", record)
        world.barrier()
        return
    if world.first:
        module.prepare(config, request.paths)
    world.barrier()
    seed_all(request.seed, 0, 0)
    objective = module.build(config, request.paths)
    if request.init_from is not None:
        objective.init_from(request.init_from)  # a run that has a state goes on from that instead
    if "lora" in request.section:
        adapt(objective, LoraConfig(**request.section["lora"]))
    if request.restart and world.first:
        forget(run_dir)  # not earlier: what cannot begin anew loses nothing
    world.barrier()
    Trainer(objective, who, run_dir, world).run()


def adapt(objective: Objective, config: LoraConfig) -> None:
    """Freeze everything, then adapt the Thinker: what the stage learns and saves is the adapter."""
    thinker = next(m for m in objective.model.modules() if isinstance(m, Thinker))
    objective.model.requires_grad_(False)
    add_lora(thinker, config)
    objective.save = partial(save_lora, thinker)


def finished(run_dir: Path, who: dict[str, Any]) -> bool:
    """Whether `final/` holds this run, trained at least as long as asked."""
    record = run_dir / "final" / "training.json"
    if not record.exists():
        return False
    try:
        done = read_json(record)
    except UserError as error:
        raise UserError(f"{error}; --restart trains the stage anew") from None
    check_same({key: done.get(key, {}) for key in {*who, "lora", "init_from"}}, who, run_dir)
    return not who["train"] or who["train"]["steps"] <= done["train"]["steps"]


def forget(run_dir: Path) -> None:
    """Removes what an earlier run of the stage left."""
    for name in ("final", "final.new", "final.old", "tensorboard"):
        shutil.rmtree(run_dir / name, ignore_errors=True)
    for name in (STATE, STABLE, "log.jsonl", "loss.png"):
        (run_dir / name).unlink(missing_ok=True)
