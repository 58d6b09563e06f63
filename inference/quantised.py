"""Linear layers with quantised weights: PyTorch's dynamic int8, float8, and bitsandbytes' formats."""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.errors import needed
from models.memory import ChapterRouter
from models.quantization import quantise_rows

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
METHODS = (*DTYPES, "dynamic", "fp8", "bnb_8bit", "bnb_4bit", "bnb_fp8")
LARGEST = torch.finfo(torch.float8_e4m3fn).max
BLOCK = 64  # numbers that share a scale in bnb_4bit and bnb_fp8


def bitsandbytes() -> ModuleType:
    """Its functions, on the CPU too."""
    return needed("bitsandbytes.functional", "this method", "-r requirements-adapters.txt")


def encode(weight: Tensor, method: str) -> dict[str, Tensor]:
    """Codes and scales of a matrix (rows, columns)."""
    weight = weight.detach().float().contiguous()
    if method == "fp8":
        scales = weight.abs().amax(1, keepdim=True).clamp_min(1e-12) / LARGEST  # (rows, 1)
        return {"codes": (weight / scales).to(torch.float8_e4m3fn), "scales": scales}
    bnb = bitsandbytes()
    if method == "bnb_8bit":
        codes, scales, _ = bnb.int8_vectorwise_quant(weight.half())
        return {"codes": codes, "scales": scales.float()}
    if method == "bnb_4bit":
        codes, state = bnb.quantize_4bit(weight, blocksize=BLOCK, quant_type="nf4")
    else:
        table = bnb.create_fp8_map()
        codes, state = bnb.quantize_blockwise(weight, code=table, blocksize=BLOCK)
    return {"codes": codes, "scales": state.absmax.float()}


def decode(parts: dict[str, Tensor], shape: torch.Size, method: str) -> Tensor:
    """The matrix again, fp32 (rows, columns)."""
    codes, scales = parts["codes"], parts["scales"]
    if method == "fp8":
        return codes.float() * scales
    if method == "bnb_8bit":
        return codes.float() * (scales[:, None] / 127)
    bnb = bitsandbytes()
    if method == "bnb_4bit":
        state = bnb.QuantState(
            absmax=scales, shape=shape, dtype=torch.float32, blocksize=BLOCK, quant_type="nf4",
            code=bnb.get_4bit_type("nf4", device=codes.device),
        )  # fmt: skip
        return bnb.dequantize_4bit(codes, state).view(shape)
    table = bnb.create_fp8_map().to(codes.device)
    wide = bnb.dequantize_blockwise(codes, absmax=scales, code=table, blocksize=BLOCK)
    return wide.view(shape).float()


class WeightOnly(nn.Module):
    """A linear map whose weight is stored quantised and widened where it is used."""

    def __init__(self, shape: tuple[int, int], method: str, parts: dict[str, Tensor]):
        super().__init__()
        self.shape, self.method = torch.Size(shape), method
        for name in ("codes", "scales"):
            self.register_buffer(name, parts[name])

    @property
    def weight(self) -> Tensor:
        """fp32 (rows, columns)"""
        return decode({"codes": self.codes, "scales": self.scales}, self.shape, self.method)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


def linears(thinker: nn.Module) -> dict[str, nn.Linear]:
    """The matrices to quantise: routers stay as they are, for they are small and choose."""
    routers = [n for n, m in thinker.named_modules() if isinstance(m, ChapterRouter)]
    return {
        name: module
        for name, module in thinker.named_modules()
        if isinstance(module, nn.Linear) and not any(name.startswith(f"{r}.") for r in routers)
    }


def swap_linears(thinker: nn.Module, method: str, parts: dict | None = None) -> nn.Module:
    """Quantise every matrix, in place; `parts` are codes and scales that were read."""
    for name, linear in linears(thinker).items():
        shape = tuple(linear.weight.shape)
        made = encode(linear.weight, method) if parts is None else parts[name]
        thinker.set_submodule(name, WeightOnly(shape, method, made))
    thinker.quantised = method  # compiled decoding leaves it to PyTorch
    return thinker


class DynamicInt8(nn.Module):
    """Int8 rows and activations rounded on the way, by PyTorch's CPU kernel. (…, in) -> (…, out)"""

    def __init__(self, codes: Tensor, scales: Tensor):
        """codes: int8 (out, in); scales: (out,)"""
        super().__init__()
        zeros = torch.zeros(len(codes), dtype=torch.long)
        weight = torch._make_per_channel_quantized_tensor(codes, scales.double(), zeros, 0)  # (out, in)
        self._packed_params = torch.ops.quantized.linear_prepack(weight, None)

    def weight(self) -> Tensor:
        """The quantised matrix (out, in)."""
        return torch.ops.quantized.linear_unpack(self._packed_params)[0]

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(x.float(), self._packed_params, True).to(x.dtype)


def dynamic_int8(thinker: nn.Module, parts: dict | None = None) -> nn.Module:
    """Dynamic int8 of every matrix, in place; `parts` are codes and scales that were read."""
    for name, linear in linears(thinker).items():
        if parts is None:
            codes, scales = quantise_rows(linear.weight.detach())  # (out, in), (out, 1)
        else:
            codes, scales = parts[name]["codes"], parts[name]["scales"]
        thinker.set_submodule(name, DynamicInt8(codes, scales.flatten()))
    thinker.quantised = "dynamic"
    return thinker
