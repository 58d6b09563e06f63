"""What the processor can do."""

import torch


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether there are instructions there for products of bfloat16 matrices. A graphics card has them.

    Without them a product took 80 times as long as in float32 (Zen 3).
    """
    cpu = torch.cpu
    return device.type != "cpu" or cpu._is_amx_tile_supported() or cpu._is_avx512_bf16_supported()
