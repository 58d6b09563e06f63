"""Presets and the loop's own settings. Refuses unknown keys, so a typing error is not a default."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from models.errors import UserError
from models.fields import broken, misfits
from training.objective import EXTRA, STAGES

PRESETS = ("nano", "tiny", "small")
CONFIGS = Path(__file__).resolve().parent.parent / "configs"

# Settings that may change when a run is resumed: they do not change what is learnt from a batch.
FREE = {"steps", "accumulate", "parallel", "prefetch", "compile"}
FREE |= {"checkpoint_minutes", "validate_every", "log_every"}

OPTIONS = {  # settings of the stage thinker that no preset has
    "model": {"attention", "semantic_dim", "geometric_dim", "value_dim"}, "data": {"extra"},
}


RULES = {  # what a value of `train` must be
    **dict.fromkeys(("steps", "batch_size", "accumulate", "validate_every", "log_every"),
                    (lambda n: n >= 1, "at least 1")),
    **dict.fromkeys(("lr", "clip"), (lambda x: 0.0 < x < math.inf, "above 0 and finite")),
    **dict.fromkeys(("prefetch", "warmup_steps", "weight_decay"),
                    (lambda x: 0.0 <= x < math.inf, "at least 0 and finite")),
    **dict.fromkeys(("decay_fraction", "final_lr_ratio"), (lambda x: 0.0 <= x <= 1.0, "in 0..1")),
    "optimizer": (("adamw", "muon").__contains__, "adamw or muon"),
    "dtype": (("float32", "bfloat16").__contains__, "float32 or bfloat16"),
    "parallel": (("ddp", "fsdp").__contains__, "ddp or fsdp"),
}


@dataclass
class TrainConfig:
    """The `train` section of a stage."""

    steps: int
    batch_size: int  # items in the global batch, all processes together
    lr: float  # peak learning rate
    optimizer: str = "adamw"  # adamw | muon (hidden matrices by Muon, the rest by AdamW)
    warmup_steps: int = 100  # lr rises linearly over these
    decay_fraction: float = 0.3  # of the steps, at the end: lr falls linearly …
    final_lr_ratio: float = 0.05  # … to this share of the peak
    weight_decay: float = 0.1  # on matrices only (not on norms, biases, embeddings)
    clip: float = 1.0  # largest gradient norm
    dtype: str = "float32"  # of autocast: float32 (none) | bfloat16
    compile: bool = False  # torch.compile each transformer block (a minute at the start, then ~1.4 ×)
    accumulate: int = 1  # slices of a process's batch, one after another, to save memory
    parallel: str = "ddp"  # under torchrun: ddp | fsdp
    prefetch: int = 0  # threads that make batches ahead
    checkpoint_minutes: float = 3.0
    validate_every: int = 500  # steps
    log_every: int = 10  # steps

    def __post_init__(self) -> None:
        good, wrong = misfits(TrainConfig, vars(self), text=True)
        if wrong := wrong or broken(RULES, good):
            raise UserError(f"train.{wrong[0]}")
        vars(self).update(good)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """From a `train` section; unknown or missing keys are named."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise UserError(
                f"unknown train setting {', '.join(unknown)}: known are {', '.join(sorted(known))}"
            )
        if missing := sorted({"steps", "batch_size", "lr"} - set(values)):
            raise UserError(f"the train section lacks {', '.join(missing)}")
        return cls(**values)


def load_preset(preset: str) -> dict[str, dict[str, Any]]:
    """The sections of `configs/<preset>.yaml`."""
    if preset not in PRESETS:
        raise UserError(f"unknown preset {preset!r}: choose one of {', '.join(PRESETS)}")
    return yaml.safe_load((CONFIGS / f"{preset}.yaml").read_text(encoding="utf-8"))


def apply_override(sections: dict[str, dict[str, Any]], stages: list[str], text: str) -> None:
    """Applies one `--set [stage.]section.key=value` to the sections of `stages`, in place.

    `stage.key` is short for `stage.model.key`.
    """
    name, equals, value = text.partition("=")
    parts = name.split(".")
    if parts[0] in STAGES + EXTRA:
        stages, parts = [parts[0]], parts[1:]
        parts = ["model", *parts] if len(parts) == 1 else parts  # memory.top_k=4
    if not equals or len(parts) != 2 or parts[0] not in ("model", "train", "data"):
        raise UserError(f"--set {text}: write [stage.]section.key=value, section model|train|data")
    section, key = parts
    found = False
    for stage in stages:
        settings = sections[stage].get(section, {})
        trained = section == "train" and settings  # the tokenizer is counted
        known = {f.name for f in fields(TrainConfig)} if trained else set()
        optional = OPTIONS.get(section, set()) if stage == "thinker" else set()
        if key in settings or key in known | optional:
            made = parse_value(value)
            if isinstance(settings.get(key), int | float) and not isinstance(made, int | float):
                raise UserError(f"--set {text}: {section}.{key} is a number")
            if section == "model" and type(settings.get(key)) is int and made < 1:
                raise UserError(f"--set {text}: {key} is at least 1")
            sections[stage].setdefault(section, {})[key] = made
            found = True
    if not found:
        raise UserError(f"--set {text}: no stage here has a setting {section}.{key}")


def parse_value(text: str) -> Any:
    """A YAML scalar or list; unlike YAML 1.1, `1e-3` is a number."""
    if "e" in text.lower():
        try:
            return float(text)
        except ValueError:
            pass  # a word
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise UserError(f"--set {text}: not a value that YAML can read") from None


def identity(stage: str, preset: str, seed: int, section: dict[str, Any]) -> dict[str, Any]:
    """What makes a run this run: a checkpoint with another identity is not continued."""
    train = section.get("train")
    who = {
        "stage": stage,
        "preset": preset,
        "seed": seed,
        "model": section.get("model") or {},
        "data": section.get("data") or {},
        "train": asdict(TrainConfig.from_dict(train)) if train else {},
    }
    return who | {"lora": section["lora"]} if "lora" in section else who


def check_same(old: dict[str, Any], new: dict[str, Any], run_dir: Path) -> None:
    """Refuses to go on with a run whose settings differ in a way that matters."""
    before, now = _flat(old), _flat(new)
    free = {f"train.{name}" for name in FREE}
    if "data.adversary_from" in now:  # a share of the steps: with more of them it begins elsewhere
        free -= {"train.steps"}
    different = [
        f"{key} was {before.get(key, 'absent')}, is {now.get(key, 'absent')}"
        for key in sorted((before.keys() | now.keys()) - free)
        if before.get(key) != now.get(key)
    ]
    if different:
        raise UserError(
            f"{run_dir} holds a run with other settings ({'; '.join(different)}): "
            "put them back, or begin anew with --restart"
        )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
