"""Checkpoint folders: read, their parts held against each other, and put where they compute."""

from pathlib import Path

import torch
from torch import nn

from inference.hf_tokenizer import load_tokenizer
from inference.speech import check_speech_parts
from models.checkpoint import UNFIT, read_json
from models.errors import UserError, in_brief
from models.memory import fingerprint
from models.omni import OmniModel, thinker_of
from models.quantization import round_to_int8
from models.thinker import Thinker

DTYPES = {  # of what PyTorch computes; int8 is what compiled decoding reads
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "int8": torch.float32,
}


def load_checkpoint(folder: Path, device: str, dtype: str, model_name: str | None):
    """The networks and the tokenizer of a folder: omni, text alone, or a dense Qwen3.

    Args:
        model_name: a folder, or a name at Hugging Face, whose tokenizer is used instead.

    Raises:
        UserError: folder, weights, device or dtype missing, corrupt or unknown.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UserError(f"the checkpoint folder {folder} {what}")
    if dtype not in DTYPES:  # before the weights are read
        raise UserError(f"dtype {dtype} is unknown: use {', '.join(DTYPES)}")
    config = folder / "config.json"
    kind = OmniModel if read_json(config).get("model_type") == "muomni" else Thinker
    tokenizer = load_tokenizer(folder, model_name)
    try:
        model = kind.from_pretrained(folder)
    except UNFIT as error:
        raise UserError(f"{config} does not describe a model: {in_brief(error)}") from error
    if kind is OmniModel:
        check_speech_parts(folder)
        for name, token in (("image", model.image_token), ("audio", model.audio_token)):
            if token != getattr(tokenizer, name, token):
                raise UserError(f"{config}: {name}_token_id is not the tokenizer's <|{name}|>")
    if len(tokenizer) > thinker_of(model).config.vocab_size:
        raise UserError(f"{folder}: the tokenizer has more ids than the weights")
    return placed(model, device, dtype), tokenizer


def placed(model: nn.Module, device: str, dtype: str) -> nn.Module:
    """The model on a device, in one of DTYPES, ready to answer."""
    model = moved(model.to(DTYPES[dtype]), device)
    if dtype == "int8":
        thinker = thinker_of(model)
        thinker.rounded_from = fingerprint(thinker)
        round_to_int8(thinker)
    return model.eval()


def moved(model: nn.Module, device: str | torch.device | None) -> nn.Module:
    """The model on a device; None: where it is. See `usable`."""
    return model if device is None else model.to(usable(device))


def usable(device: str | torch.device) -> torch.device:
    """The device itself.

    Raises:
        UserError: device unknown, missing, or of a kind that cannot compute.
    """
    try:
        device = torch.device(device)
        torch.zeros(1, device=device).item()  # meta tensors can be made, not computed with
    except (RuntimeError, AssertionError, ValueError, ImportError) as error:
        raise UserError(f"cannot use the device {str(device)!r}: {in_brief(error)}") from None
    return device
