"""A Thinker on disk: Qwen3's folder, so that `transformers` loads ours and we load any dense Qwen3.

With `attention: dba` a Thinker is no Qwen3, and says so.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from models import decoupled
from models.checkpoint import (
    WEIGHTS,
    Pretrained,
    built,
    check_shapes,
    config_from_dict,
    read_json,
    read_tensors,
)
from models.errors import UserError


class Qwen3Json:
    """Reading and writing for a dataclass whose fields have Hugging Face's names."""

    @classmethod
    def from_json(cls, values: dict, source: str) -> Self:
        """Read a `config.json`: ours, or any dense Qwen3's."""
        if values.get("model_type") == decoupled.MODEL_TYPE:
            return config_from_dict(cls, {k: v for k, v in values.items() if k != "model_type"}, source)
        return cls.from_hugging_face(values, source)

    def to_json(self) -> dict:
        """What `config.json` says: a Qwen3, or that it is none."""
        if self.decoupled:
            return {"model_type": decoupled.MODEL_TYPE} | asdict(self)
        return self.to_hugging_face()

    def to_hugging_face(self) -> dict:
        """The `config.json` that `transformers` reads.

        Raises:
            UserError: decoupled attention, which Qwen3 has not.
        """
        if self.decoupled:
            raise UserError(
                "a Thinker with attention dba is not a Qwen3: transformers cannot read it"
            )
        qwen3 = {key: value for key, value in asdict(self).items() if key not in decoupled.FIELDS}
        return qwen3 | {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "hidden_act": "silu",
            "use_sliding_window": False,
            "dtype": "float32",  # stored in bf16, computed in fp32: transformers heeds this too
        }

    @classmethod
    def from_hugging_face(cls, values: dict, source: str) -> Self:
        """Read a Qwen3 `config.json`; anything that would change the maths is refused."""
        if values.get("model_type") != "qwen3":
            raise UserError(f"{source}: model_type is {values.get('model_type')}, expected qwen3")
        values = dict(values)
        rope = values.get("rope_scaling") or values.get("rope_parameters") or {}
        if rope.get("rope_type", rope.get("type", "default")) != "default":
            raise UserError(f"{source}: scaled RoPE is not supported ({rope})")
        values.setdefault("rope_theta", rope.get("rope_theta", 10_000.0))
        if values.get("attention_bias") or values.get("use_sliding_window"):
            raise UserError(f"{source}: attention bias and sliding windows are not supported")
        if values.get("hidden_act", "silu") != "silu":
            raise UserError(f"{source}: hidden_act is {values['hidden_act']}, expected silu")
        values.setdefault("tie_word_embeddings", False)  # as transformers reads a config without it
        eos = values.get("eos_token_id")
        if isinstance(eos, list):
            values["eos_token_id"] = eos[0]
        names = cls.__dataclass_fields__.keys() - decoupled.FIELDS
        given = {key: values[key] for key in names if values.get(key) is not None}
        given = {"pad_token_id": None} | given  # our 3 would be an ordinary token there
        return config_from_dict(cls, given, source)


class Qwen3Folder(Pretrained):
    """Saving and loading for a model whose parameters and config have Qwen3's names."""

    quantised = ""  # how its matrices are stored, where not as plain weights: inference.quantised

    def config_values(self) -> dict:
        return self.config.to_json()

    def saved_tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        tensors = super().saved_tensors(dtype)
        if self.quantised or any(".lora_A" in name for name in tensors):
            raise UserError(
                "a Thinker with LoRA adapters or quantised matrices is no folder of Qwen3's: merge_lora "
                "first, save_lora, or quantize_full_model with an output_path"
            )
        return tensors

    @classmethod
    def from_pretrained(cls, folder: str | Path, name: str = WEIGHTS) -> Self:
        """Load ours, any dense Qwen3 folder, sharded or not, or the Thinker of an omni folder."""
        folder = Path(folder)
        source, values = str(folder / "config.json"), read_json(folder / "config.json")
        if name != WEIGHTS or values.get("model_type") == "muomni":
            return super().from_pretrained(folder, "thinker" if name == WEIGHTS else name)
        config = cls.config_class.from_json(values, source)
        tensors = read_tensors(folder)
        if config.tie_word_embeddings:
            copy = tensors.pop("lm_head.weight", None)  # some exports keep the tied copy
            if copy is not None and not torch.equal(copy, tensors.get("model.embed_tokens.weight", copy)):
                raise UserError(f"{folder}: lm_head.weight is not the embeddings', as its config says")
        with torch.device("meta"):  # sizes are known, nothing is allocated
            check_shapes(built(cls, config, source), {k: v.shape for k, v in tensors.items()}, str(folder))
        module = cls(config)
        module.load_state_dict(tensors)
        module.folder = folder
        return module.eval()
