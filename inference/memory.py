"""Using a memory bank: loading it onto a checkpoint, and its settings from YAML.

    omni = Omni.from_pretrained()
    attach_memory(omni, "checkpoints/memory_tiny")
    omni.chat("What is the capital of Velmora?")

`load_config` and `MemoryAdapter` build one from a configuration instead, for training loops of
one's own. The network is models/memory.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from inference.routing_strategies import create_inference_router
from models import memory
from models.checkpoint import config_from_dict
from models.errors import UserError
from models.memory import MemoryConfig
from models.omni import OmniModel, thinker_of
from models.thinker import Thinker

if TYPE_CHECKING:
    from inference.omni import Omni

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class AdapterConfig:
    """A memory bank and the checkpoint whose Thinker it is for."""

    base_model: Path = ROOT / "checkpoints" / "omni_sft_tiny"
    memory: MemoryConfig = field(default_factory=MemoryConfig)


def load_config(path: str | Path) -> AdapterConfig:
    """Read the `memory` section of a YAML file, a preset of configs/ or one's own.

    `base_model` beside it names a checkpoint folder; without it the shipped one is meant. In a preset
    the settings stand under `memory.model`.

    Raises:
        UserError: no such file, no such section, an unknown or impossible setting.
    """
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    section = values.get("memory") if isinstance(values, dict) else None
    if not isinstance(section, dict):
        raise UserError(f"{path} has no section memory")
    section = section.get("model", section)
    base = values.get("base_model")
    config = config_from_dict(MemoryConfig, section, f"{path}, memory")
    return AdapterConfig(memory=config) if base is None else AdapterConfig(Path(base), config)


class MemoryAdapter(memory.MemoryAdapter):
    """A checkpoint's Thinker, frozen, with a new memory bank: `MemoryAdapter(load_config(path))`."""

    def __new__(cls, config: AdapterConfig) -> memory.MemoryAdapter:
        adapter = memory.MemoryAdapter.around(Thinker.from_pretrained(config.base_model), config.memory)
        return set_strategy(adapter)


def set_strategy(
    adapter: memory.MemoryAdapter, strategy: str | None = None, window_size: int | None = None
) -> memory.MemoryAdapter:
    """Route by this strategy from now on; None: what the bank's config says."""
    config = adapter.memory.config
    adapter.strategies = [
        create_inference_router(
            router,
            strategy or config.routing_strategy_inference,
            config.top_k,
            window_size or config.window_size,
        )
        for router in adapter.routers.values()
    ]
    return adapter


def attach_memory(
    omni: Omni, folder: str | Path, strategy: str | None = None
) -> memory.MemoryAdapter:
    """Give a loaded checkpoint a memory bank; its answers draw on it from now on.

    Args:
        strategy: how to route: sequence, rolling, token or hybrid; None: as the bank says.

    Raises:
        UserError: no bank there, one of another Thinker, or an unknown strategy.
    """
    if not Path(folder).is_dir():
        raise UserError(f"no memory bank at {folder}: make one with python train.py memory")
    thinker = thinker_of(omni.model)
    if isinstance(thinker, memory.MemoryAdapter):
        raise UserError(f"{omni.folder} has a memory bank already")
    adapter = set_strategy(memory.MemoryAdapter.from_pretrained(folder, thinker=thinker), strategy)
    if isinstance(omni.model, OmniModel):
        omni.model.thinker = adapter
    else:
        omni.model = adapter
    return adapter
