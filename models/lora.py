"""LoRA: low-rank adapters of a Thinker's matrices (arXiv:2106.09685), in PEFT's file format.

An adapted matrix computes W x + alpha / r * B A x; only A and B are learnt. B begins at zero, so
that the model is unchanged at first. Folders that `peft` writes load here, and the other way round.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from models.checkpoint import config_from_dict, read_json, read_tensors, write_json, write_tensors
from models.errors import UserError
from models.memory import PREFIX as MEMORY
from models.thinker import Thinker

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
FILE = "adapter_model"  # PEFT's names
CONFIG = "adapter_config.json"
PREFIX = "base_model.model."
UNSUPPORTED = ("use_dora", "use_rslora", "fan_in_fan_out", "rank_pattern", "alpha_pattern",
               "modules_to_save", "layers_to_transform")  # fmt: skip


@dataclass
class LoraConfig:
    """Rank, scale and matrices of an adapter, by PEFT's names."""

    r: int = 8
    lora_alpha: float = 16.0
    target_modules: tuple[str, ...] = TARGETS

    def __post_init__(self) -> None:
        self.target_modules = tuple(self.target_modules)
        if not isinstance(self.r, int) or self.r < 1:
            raise UserError(f"LoRA's rank must be at least 1, not {self.r}")
        if not 0 < self.lora_alpha < math.inf:
            raise UserError(f"LoRA's alpha must be above 0, not {self.lora_alpha}")
        if odd := [name for name in self.target_modules if name not in TARGETS]:
            raise UserError(f"LoRA has no target {odd[0]}: use {', '.join(TARGETS)}")
        if not self.target_modules:
            raise UserError(f"LoRA needs targets: some of {', '.join(TARGETS)}")


class LoraLinear(nn.Module):
    """A frozen linear map with a low-rank addition. (…, in) -> (…, out)"""

    def __init__(self, base: nn.Linear, config: LoraConfig):
        super().__init__()
        self.base_layer, self.scale = base.requires_grad_(False), config.lora_alpha / config.r
        like = {"device": base.weight.device, "dtype": base.weight.dtype, "bias": False}
        self.lora_A = nn.Linear(base.in_features, config.r, **like)
        self.lora_B = nn.Linear(config.r, base.out_features, **like)
        nn.init.kaiming_uniform_(self.lora_A.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B.weight)

    @property
    def weight(self) -> Tensor:
        """The merged matrix (out, in): compiled decoding reads this."""
        return self.base_layer.weight + self.scale * (self.lora_B.weight @ self.lora_A.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.base_layer(x) + self.scale * self.lora_B(self.lora_A(x))


def adapted(thinker: Thinker) -> dict[str, LoraLinear]:
    """The adapted matrices by their names."""
    return {name: m for name, m in thinker.named_modules() if isinstance(m, LoraLinear)}


def add_lora(thinker: Thinker, config: LoraConfig) -> Thinker:
    """Freeze a Thinker and adapt its matrices, in place; those of a memory bank stay as they are."""
    if adapted(thinker):
        raise UserError("the Thinker has an adapter already: merge it first")
    thinker.requires_grad_(False)
    for name, module in list(thinker.named_modules()):
        wanted = name.split(".")[-1] in config.target_modules and not name.startswith(MEMORY)
        if isinstance(module, nn.Linear) and wanted:
            thinker.set_submodule(name, LoraLinear(module, config))
    if not adapted(thinker):
        raise UserError(f"the Thinker has none of the targets {', '.join(config.target_modules)}")
    thinker.lora = config
    return thinker


@torch.no_grad()
def merge_lora(thinker: Thinker) -> Thinker:
    """Add every adapter to its matrix, in place: the same logits without further cost."""
    for name, module in adapted(thinker).items():
        base = module.base_layer
        base.weight.copy_(module.weight)
        thinker.set_submodule(name, base)
    return thinker


def merged_state(thinker: Thinker) -> dict[str, Tensor]:
    """The state dict with adapters merged, under the names of a plain Thinker."""
    if thinker.quantised:
        raise UserError(f"a Thinker quantised by {thinker.quantised} is not exported: take its original")
    pairs = adapted(thinker)
    state = {
        key: value.detach().clone()
        for key, value in thinker.state_dict().items()
        if not any(key.startswith(f"{name}.") for name in pairs)
    }
    return state | {f"{name}.weight": module.weight.detach() for name, module in pairs.items()}


def save_lora(thinker: Thinker, folder: str | Path) -> None:
    """Write `adapter_config.json` and `adapter_model.safetensors` as PEFT does."""
    pairs = adapted(thinker)
    if not pairs:
        raise UserError("the Thinker has no LoRA adapter to save")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"{PREFIX}{name}.{part}.weight": getattr(module, part).weight.detach().cpu().contiguous()
        for name, module in pairs.items()
        for part in ("lora_A", "lora_B")
    }
    write_tensors(folder, FILE, tensors)
    values = asdict(thinker.lora) | {"target_modules": list(thinker.lora.target_modules)}
    fixed = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "bias": "none", "lora_dropout": 0.0}
    base = {"base_model_name_or_path": str(thinker.folder or ""), "inference_mode": True}
    write_json(folder / CONFIG, values | fixed | base)


def load_lora(thinker: Thinker, folder: str | Path) -> Thinker:
    """Adapt a Thinker, in place, by a folder of ours or of PEFT's.

    Raises:
        UserError: files missing or corrupt, another kind of adapter, or one of another model.
    """
    folder = Path(folder)
    values = read_json(folder / CONFIG)
    if values.get("peft_type") != "LORA":
        raise UserError(f"{folder} holds no LoRA adapter but {values.get('peft_type')}")
    if odd := [name for name in UNSUPPORTED if values.get(name)]:
        raise UserError(f"{folder}: {odd[0]} is not supported")
    names = values.get("target_modules")
    names = sorted(map(str, names)) if isinstance(names, list) else [str(names)]
    if lacking := [name for name in ("r", "lora_alpha") if name not in values]:
        raise UserError(f"{folder / CONFIG} lacks {lacking[0]}")
    named = {key: values[key] for key in ("r", "lora_alpha")}
    named["target_modules"] = [str(name).split(".")[-1] for name in names]
    config = config_from_dict(LoraConfig, named, str(folder / CONFIG))
    tensors = {k.removeprefix(PREFIX): v for k, v in read_tensors(folder, FILE).items()}
    add_lora(thinker, config)
    own = {
        f"{name}.{part}.weight": getattr(module, part).weight
        for name, module in adapted(thinker).items()
        for part in ("lora_A", "lora_B")
    }
    wrong = sorted(own.keys() ^ tensors.keys())
    wrong += [key for key in own.keys() & tensors.keys() if own[key].shape != tensors[key].shape]
    if wrong:
        merge_lora(thinker)
        raise UserError(f"{folder} does not fit this Thinker ({wrong[0]})")
    with torch.no_grad():
        for key, weight in own.items():
            weight.copy_(tensors[key])
    return thinker
