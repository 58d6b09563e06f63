"""Devices and number types: a model is put where it computes, or the reason why not is one line."""

import torch
from torch import nn

from inference.generation import thinker_of
from models.errors import UserError
from models.quantization import round_to_int8

DTYPES = {  # of what PyTorch computes; int8 is what compiled decoding reads
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "int8": torch.float32,
}


def placed(model: nn.Module, device: str, dtype: str) -> nn.Module:
    """The model on a device, in one of DTYPES.

    Raises:
        UserError: device unknown, missing, or of a kind that cannot compute.
    """
    model = moved(model, device, DTYPES[dtype])
    if dtype == "int8":
        round_to_int8(thinker_of(model))
    return model.eval()


def moved(
    model: nn.Module, device: str | torch.device | None, dtype: torch.dtype | None = None
) -> nn.Module:
    """The model where it is to compute; None: where it is.

    Raises:
        UserError: as `placed`.
    """
    if device is None:
        return model
    try:
        model = model.to(torch.device(device), dtype)
        torch.zeros(1, device=device).item()  # meta tensors can be made, not computed with
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"cannot use the device {str(device)!r}: {reason}") from None
    return model
