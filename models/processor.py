"""What the processor is, and what it can do."""

import os
import platform
from functools import cache
from pathlib import Path

import torch


@cache
def processor() -> str:
    """The model and the instruction sets of the first core."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    names = ("model name", "flags", "CPU part", "Features")  # x86's, then Arm's
    return "\n".join(line for line in first.splitlines() if line.startswith(names))


def machine(device: torch.device) -> str:
    """What computes: "AMD EPYC, 2 cores", or a graphics card's name."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    named = [line for line in processor().splitlines() if line.startswith("model name")]
    name = named[0].partition(":")[2].strip() if named else platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether there are instructions there for products of bfloat16 matrices. A graphics card has them.

    Without them a product took 80 times as long as in float32 (Zen 3).
    """
    cpu = torch.cpu
    return device.type != "cpu" or cpu._is_amx_tile_supported() or cpu._is_avx512_bf16_supported()
