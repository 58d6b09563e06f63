"""Merging adapters and quantising for deployment; every function writes a file that loads again.

    merge_adapter_weights(model, "merged.safetensors")
    quantize_full_model(model, method="bnb_4bit", output_path="small.safetensors")
    thinker = load_quantized("small.safetensors")

Paths ending in .pt are torch files of tensors alone (`torch.load(…, weights_only=True)`), all others
safetensors. bitsandbytes (requirements-adapters.txt) serves the methods bnb_*, on a CPU too.
"""

from __future__ import annotations

import copy
import json
from importlib import import_module
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from inference.memory import set_strategy
from inference.quantised import DTYPES, METHODS, WeightOnly, dynamic_int8, linears, swap_linears
from models.checkpoint import UNFIT, config_from_dict, load_strict
from models.errors import UserError
from models.files import replacing
from models.lora import load_lora, merge_lora, merged_state
from models.memory import PREFIX, MemoryAdapter, MemoryConfig, fingerprint
from models.omni import thinker_of
from models.quantization import dequantise, quantise, round_to_int8
from models.thinker import Thinker, ThinkerConfig

META = "_meta"  # what a .pt file says of itself: JSON as bytes
BLOCK = 32  # numbers of a chapter's slot that share a scale
KINDS = {8: "q8_0", 4: "q4_0"}


def __getattr__(name: str):
    if name == "export_to_gguf":  # beside what it is used with, though it writes another format
        return import_module("export.gguf").export_to_gguf
    raise AttributeError(f"module 'inference.merge' has no attribute {name!r}")


def write_file(path: str | Path, tensors: dict[str, Tensor], meta: dict) -> None:
    """Tensors and what they are, in one file, whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {key: value.detach().cpu().contiguous().clone() for key, value in tensors.items()}
    with replacing(path) as temporary:
        if path.suffix == ".pt":
            note = torch.tensor(list(json.dumps(meta).encode()), dtype=torch.uint8)
            torch.save(tensors | ({META: note} if meta else {}), temporary)
        else:
            save_file(tensors, temporary, metadata={"format": "pt", "meta": json.dumps(meta)})


def read_file(path: str | Path) -> tuple[dict[str, Tensor], dict]:
    """What `write_file` wrote."""
    path = Path(path)
    try:
        if path.suffix == ".pt":
            tensors = torch.load(path, map_location="cpu", weights_only=True)
            note = tensors.pop(META, torch.tensor(list(b"{}"), dtype=torch.uint8))
            return tensors, json.loads(bytes(note.tolist()))
        with safe_open(path, "pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            return tensors, json.loads((file.metadata() or {}).get("meta", "{}"))
    except Exception as error:  # torch and safetensors raise what they like for files that are bad
        raise UserError(f"cannot read {path}: {error}") from None


def merge_adapter_weights(model, output_path: str | Path | None = None) -> dict[str, Tensor]:
    """A plain state dict with LoRA adapters added to their matrices: the same logits."""
    state = merged_state(thinker_of(model))
    if output_path is not None:
        write_file(output_path, state, {})
    return state


def attach_adapter(omni, folder: str | Path) -> None:
    """Merge a LoRA adapter, ours or PEFT's, into a loaded checkpoint: no cost afterwards."""
    thinker = thinker_of(omni.model)
    if isinstance(thinker, MemoryAdapter):
        raise UserError("a bank is there already: attach the adapter before the memory bank")
    merge_lora(load_lora(thinker, folder))
    if thinker.int8:
        thinker.rounded_from = None  # it is another Thinker now: a bank of the old one does not fit
        thinker.rounded_from = fingerprint(thinker)
        round_to_int8(thinker)  # the sums have left the grid of 8 bits


def adapter_of(model) -> MemoryAdapter:
    """The Thinker with a memory bank inside a model."""
    thinker = thinker_of(model)
    if not isinstance(thinker, MemoryAdapter):
        raise UserError("this model has no memory bank: attach one with inference.memory.attach_memory")
    return thinker


def extract_memory_weights(model, output_path: str | Path | None = None) -> dict[str, Tensor]:
    """Bank, routers and cross-attention alone: what is shared to share facts."""
    state = adapter_of(model).state_dict()
    memory = {key: value.detach().clone() for key, value in state.items() if key.startswith(PREFIX)}
    if output_path is not None:
        write_file(output_path, memory, {})
    return memory


@torch.no_grad()
def quantize_memory_for_deployment(model, bits: int = 4, output_path: str | Path | None = None):
    """Round the bank's chapters to 8 or 4 bits (q8_0, q4_0), in place; the rest keeps its dtype.

    The file holds codes, scales and the other memory weights in bf16; see `load_memory`.
    """
    if bits not in KINDS:
        raise UserError(f"bits must be 4 or 8, not {bits}")
    adapter = adapter_of(model)
    chapters = adapter.memory.chapters  # (C, M, D)
    codes, scales = quantise(chapters, KINDS[bits], BLOCK)
    chapters.copy_(dequantise(codes, scales, KINDS[bits], torch.float32))
    if output_path is not None:
        rest = {
            key: value.to(torch.bfloat16)
            for key, value in extract_memory_weights(model).items()
            if key != f"{PREFIX}chapters"
        }
        packed = {f"{PREFIX}chapters.codes": codes, f"{PREFIX}chapters.scales": scales}
        write_file(output_path, rest | packed, {"bits": bits})
    return model


@torch.no_grad()
def load_memory(model, path: str | Path):
    """Memory weights of `extract_memory_weights` or `quantize_memory_for_deployment`, in place."""
    tensors, meta = read_file(path)
    tensors = {key.removeprefix(PREFIX): value for key, value in tensors.items()}
    if "bits" in meta:
        try:
            codes, scales = map(tensors.pop, ("chapters.codes", "chapters.scales"))
            tensors["chapters"] = dequantise(codes, scales, KINDS[meta["bits"]], torch.float32)
        except UNFIT as error:
            raise UserError(f"{path} holds no chapters in 4 or 8 bits ({error})") from None
    load_strict(adapter_of(model).memory, tensors, str(path))
    return model


@torch.no_grad()
def quantize_full_model(model, method: str = "dynamic", output_path: str | Path | None = None):
    """A quantised copy of a model's Thinker, memory included; it generates as before.

    Args:
        method: one of METHODS. fp32, fp16 and bf16 convert; dynamic is PyTorch's int8 with
            activations rounded on the way; fp8 is float8 (e4m3) with a scale a row; the bnb_*
            methods store weights as bitsandbytes does. The last four widen weights where they
            are used, so they save memory, not time. Embeddings and norms stay bf16 in files.

    Raises:
        UserError: an unknown method, or a library that is not installed.
    """
    if method not in METHODS:
        raise UserError(f"method {method!r} is unknown: use {', '.join(METHODS)}")
    thinker = thinker_of(model)
    if not isinstance(thinker, Thinker) or thinker.quantised:
        raise UserError("model must be a Thinker or an OmniModel whose weights are not quantised")
    thinker = merge_lora(copy.deepcopy(thinker).eval())
    if method in DTYPES:
        thinker = thinker.to(DTYPES[method])
        tensors = thinker.state_dict()
    else:
        thinker = dynamic_int8(thinker) if method == "dynamic" else swap_linears(thinker, method)
        for parameter in thinker.parameters():  # as the file will hold them
            parameter.copy_(parameter.bfloat16())
        tensors = quantised_state(thinker)
    if output_path is not None:
        meta = {"method": method, "config": vars(thinker.config)}
        if isinstance(thinker, MemoryAdapter):
            meta["memory"] = vars(thinker.memory.config)
        write_file(output_path, tensors, meta)
    return thinker


def quantised_state(thinker: nn.Module) -> dict[str, Tensor]:
    """Codes and scales of matrices, the rest in bf16."""
    tensors: dict[str, Tensor] = {}
    for name, module in thinker.named_modules():
        if hasattr(module, "_packed_params"):  # PyTorch's own: its weight is no plain tensor
            weight = module.weight()
            tensors[f"{name}.codes"] = weight.int_repr()
            tensors[f"{name}.scales"] = weight.q_per_channel_scales()  # (rows,)
        elif isinstance(module, WeightOnly):
            tensors |= {f"{name}.{key}": value for key, value in module.named_buffers()}
    for key, value in thinker.named_parameters():
        tensors[key] = value.to(torch.bfloat16)
    return tensors


@torch.no_grad()
def load_quantized(path: str | Path) -> Thinker:
    """The Thinker that `quantize_full_model` wrote.

    Raises:
        UserError: no such file, or a library that it needs is not installed.
    """
    tensors, meta = read_file(path)
    method = meta.get("method")
    if method not in METHODS:
        raise UserError(f"{path} was not written by quantize_full_model")
    config = config_from_dict(ThinkerConfig, meta["config"], str(path))
    memory = config_from_dict(MemoryConfig, meta["memory"], str(path)) if "memory" in meta else None
    thinker = MemoryAdapter(config, memory) if memory else Thinker(config)
    if memory:
        set_strategy(thinker)
    if method in DTYPES:
        load_strict(thinker, tensors, str(path))
        return thinker.to(DTYPES[method]).eval()
    codes = {key.removesuffix(".codes") for key in tensors if key.endswith(".codes")}
    if lost := linears(thinker).keys() - codes:
        raise UserError(f"{path}: missing key {min(lost)}.codes")
    parts = {name: {} for name in codes}
    for key in list(tensors):
        name, _, part = key.rpartition(".")
        if name in parts:
            parts[name][part] = tensors.pop(key)
    thinker = dynamic_int8(thinker, parts) if method == "dynamic" else swap_linears(
        thinker, method, parts
    )
    found = thinker.load_state_dict({k: v.float() for k, v in tensors.items()}, strict=False)
    lost = [key for key in found.missing_keys if not key.startswith(tuple(f"{name}." for name in codes))]
    if lost or found.unexpected_keys:
        raise UserError(f"{path}: missing or unknown key {[*lost, *found.unexpected_keys][0]}")
    return thinker.eval()
