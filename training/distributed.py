"""Starting and talking to the other processes of a `torchrun`. One process is a world of one."""

from __future__ import annotations

import copy
import gc
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from models.errors import UserError

TIMEOUT = timedelta(hours=12)  # the others wait while rank 0 makes data
_meshes: list[DeviceMesh] = []  # of sharded models


@dataclass(frozen=True)
class World:
    """This process among the others."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process writes files and the screen."""
        return self.rank == 0

    def barrier(self) -> None:
        """Waits for all."""
        if self.size > 1:
            dist.barrier()

    def sum(self, values: list[float]) -> list[float]:
        """The values of all processes, added."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def gather(self, value: object) -> list:
        """Every process's value, in order of rank."""
        if self.size == 1:
            return [value]
        values: list = [None] * self.size
        dist.all_gather_object(values, value)
        return values


def start(device: str | None) -> World:
    """Joins the processes torchrun started (gloo on CPU, NCCL on GPU), or stays alone."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"--device {device}: no CUDA device here; use --device cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"--device {device}: {str(error).splitlines()[0]}") from None
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return World(device=torch.device(device))
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(torch.device(device))
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo", timeout=TIMEOUT)
    return World(dist.get_rank(), size, torch.device(device))


def stop() -> None:
    """Leaves the group, if there is one, and ends its threads.

    A mesh lives on in PyTorch's caches and keeps the group. A thread of gloo's that lets go of a tensor
    while Python ends aborts the process (pytorch/pytorch pull request 179291).
    """
    if not dist.is_initialized():
        return
    dist.destroy_process_group()
    for mesh in _meshes:
        mesh._pg_registry.clear()
    _meshes.clear()
    gc.collect()  # what was sharded refers to the group, in circles


def parallelise(model: nn.Module, kind: str, world: World) -> nn.Module:
    """Makes gradients the mean over processes: DDP wraps the model, FSDP2 shards a copy of it.

    The copy leaves the objective a plain model to measure and save (`state.copy_weights`), so one
    process must be able to hold the weights; gradients and optimiser state are shared out.
    """
    if world.size == 1:
        return model
    if kind == "fsdp":
        model = copy.deepcopy(model)
        mesh = init_device_mesh(world.device.type, (world.size,))
        _meshes.append(mesh)
        for name, module in model.named_modules():
            if isinstance(module, nn.ModuleList) and name.split(".")[-1] in ("layers", "blocks"):
                for block in module:
                    fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    devices = [world.device] if world.device.type == "cuda" else None
    # An omni batch may hold no picture, or no sound: those parameters have no gradient then.
    return DistributedDataParallel(model, device_ids=devices, find_unused_parameters=True)


def unwrap(model: nn.Module) -> nn.Module:
    """The model inside DDP's wrapper, or the model."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def no_sync(model: nn.Module, last: bool) -> AbstractContextManager:
    """Keeps DDP from averaging gradients before the last slice of an accumulated batch."""
    if isinstance(model, DistributedDataParallel) and not last:
        return model.no_sync()
    return nullcontext()
