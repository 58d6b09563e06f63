"""The training state on disk: weights, optimiser state and a JSON note, in one safetensors file.

No pickle anywhere: a state file from a stranger can be opened. Refuses a file whose tensors do not
fit the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.optim import Optimizer

from models.errors import UserError
from models.files import replacing

STATE = "state.safetensors"  # the newest state
STABLE = "state_stable.safetensors"  # the state before the learning rate fell: longer runs go on here
WEIGHT, MEMORY = "model.", "optimizer."  # key prefixes: MEMORY<parameter name>|<state name>


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers, tied ones once."""
    kept = set(model.state_dict())
    named = dict(model.named_parameters()) | dict(model.named_buffers())
    return {name: tensor for name, tensor in named.items() if name in kept}


def gather(model: nn.Module, optimizers: list[Optimizer]) -> dict[str, Tensor]:
    """All tensors of the state, whole and on the CPU. Under FSDP every process must call it."""
    tensors = {WEIGHT + name: _whole(t) for name, t in model_tensors(model).items()}
    for name, p in model.named_parameters():
        for optimizer in optimizers:
            if p in optimizer.state:
                for key, value in optimizer.state[p].items():
                    tensors[f"{MEMORY}{name}|{key}"] = _whole(value)
    return tensors


def write(path: Path, tensors: dict[str, Tensor], note: dict[str, Any]) -> None:
    """Writes the file beside its target, then renames: a killed run leaves the old one whole."""
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={"note": json.dumps(note)})


def read_note(path: Path) -> dict[str, Any] | None:
    """The JSON note of a state file; None when there is no file."""
    if not path.exists():
        return None
    try:
        with safe_open(path, "pt") as file:
            return json.loads(file.metadata()["note"])
    except (SafetensorError, TypeError, KeyError, ValueError) as error:
        raise UserError(f"{path} is not a training state ({error}): use --restart") from error


def load_model(path: Path, model: nn.Module) -> None:
    """Copies the weights in; call before the model is sharded or wrapped."""
    targets = model_tensors(model)
    with safe_open(path, "pt") as file, torch.no_grad():
        names = {k.removeprefix(WEIGHT) for k in file.keys() if k.startswith(WEIGHT)}  # noqa: SIM118
        if odd := sorted(names ^ targets.keys()):
            raise UserError(f"{path} does not fit the model ({', '.join(odd[:5])}): use --restart")
        for name, target in targets.items():
            tensor = file.get_tensor(WEIGHT + name)
            if tensor.shape != target.shape:
                raise UserError(f"{path} does not fit the model (shape of {name}): use --restart")
            target.copy_(tensor)


def copy_weights(sharded: nn.Module, plain: nn.Module) -> None:
    """Fills a plain model with a sharded one's weights. Every process must call it."""
    targets = model_tensors(plain)
    with torch.no_grad():
        for name, tensor in model_tensors(sharded).items():
            targets[name].copy_(_whole(tensor))


def load_optimizers(path: Path, model: nn.Module, optimizers: list[Optimizer]) -> None:
    """Restores what the optimisers remember of each parameter."""
    parameters = dict(model.named_parameters())
    owners = {p: o for o in optimizers for group in o.param_groups for p in group["params"]}
    with safe_open(path, "pt") as file:
        for full in file.keys():  # noqa: SIM118
            if full.startswith(MEMORY):
                name, key = full.removeprefix(MEMORY).split("|")
                p = parameters[name]
                value = file.get_tensor(full).to(p.device)
                if isinstance(p, DTensor) and value.shape == p.shape:
                    value = distribute_tensor(value, p.device_mesh, p.placements)
                owners[p].state[p][key] = value


def _whole(tensor: Tensor) -> Tensor:
    tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return tensor.detach().cpu().contiguous()
