"""Saving and loading: `config.json` beside safetensors, Hugging Face's layout.

Loading is strict. A missing, extra or mis-shaped key is an error that names the key, because a
part left at random weights looks loaded and is not. Pickle is never read.
"""

import dataclasses
import json
import math
import zlib
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from models.errors import UserError
from models.files import replacing
from models.quantization import quantise_rows, ternary, to_trits, trits

WEIGHTS = "model"  # default stem: model.safetensors beside config.json
SHAPE = "_shape"  # beside a deflated matrix, whose bytes are in a row
SCALE = "_scale"  # beside its int8 codes, as compressed-tensors names it
STEP = "_step"  # beside its codes of -1, 0 and 1: what a one stands for, of each row
REST = "_rest"  # beside its exponents: sign and mantissa, 8 bits each, which do not deflate
NAMED = 3  # how many offending keys an error names before it counts the rest


def read_json(path: Path) -> dict:
    """A JSON object from a file; UserError when it is missing or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"no {path.name} in {path.parent}: is this a checkpoint folder?") from None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def write_json(path: Path, content: dict) -> None:
    """Write JSON so that a reader sees the old file or the whole new one."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_tensors(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """All tensors of `<name>.safetensors`, or of its shards when there is an index file."""
    index = folder / f"{name}.safetensors.index.json"
    if index.exists():
        files = sorted(set(read_json(index)["weight_map"].values()))
    else:
        files = [f"{name}.safetensors"]
    tensors: dict[str, Tensor] = {}
    for file in files:
        path = folder / file
        if not path.is_file():
            raise UserError(f"missing weights: {path}. Train them, or check --ckpt_dir")
        try:
            tensors.update(unpacked(load_file(path)))
        except (SafetensorError, OSError, zlib.error) as error:
            raise UserError(f"corrupt weights: {path} ({error}). Get the file again") from None
    return tensors


def unpacked(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `packed`, `thinned` and `squeezed` made (rows, …) as it was, the rest as it is."""
    out = dict(tensors)
    for name in [key.removesuffix(SHAPE) for key in tensors if key.endswith(SHAPE)]:
        shape = out.pop(name + SHAPE).tolist()
        codes = bytearray(zlib.decompress(tensors[name].numpy().tobytes()))
        if name + SCALE in tensors:
            matrix = torch.frombuffer(codes, dtype=torch.int8).view(shape)  # (rows, …)
            out[name] = (matrix.flatten(1) * out.pop(name + SCALE).float()).view(shape)
        elif name + STEP in tensors:
            numbers = trits(torch.frombuffer(codes, dtype=torch.uint8))[: math.prod(shape)]  # (n,)
            out[name] = numbers.view(shape) * out.pop(name + STEP)[:, None].float()  # (rows, columns)
        else:
            exponents = torch.frombuffer(codes, dtype=torch.uint8).short()  # (n,)
            rest = out.pop(name + REST).short()  # (n,) sign, then seven bits of mantissa
            bits = (rest & 0x80) << 8 | exponents << 7 | rest & 0x7F
            out[name] = bits.view(torch.bfloat16).view(shape)
    return out


def packed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices and kernels as deflated int8 with a scale for each row, the rest in bfloat16."""
    out = {}
    for key, value in tensors.items():
        if value.is_floating_point() and value.dim() >= 2:
            codes, out[key + SCALE] = quantise_rows(value.flatten(1))  # (rows, n), (rows, 1)
            out[key], out[key + SHAPE] = deflated(codes), torch.tensor(value.shape)
        else:
            out[key] = value.to(torch.bfloat16) if value.is_floating_point() else value
    return out


def thinned(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices as -1, 0 and 1 with a number for each row, five codes to a byte, deflated."""
    out = {}
    for key, value in tensors.items():
        codes, step = ternary(value)  # (rows, columns), (rows, 1)
        out[key], out[key + STEP] = deflated(to_trits(codes.flatten())), step[:, 0].to(torch.bfloat16)
        out[key + SHAPE] = torch.tensor(value.shape)
    return out


def squeezed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The exponents of bfloat16 matrices deflated: weights are of like sizes, so 8 bits take 3.

    The same numbers to the bit in 7/10 of the room (DFloat11, arXiv:2504.11651).
    """
    out = dict(tensors)
    for key, value in tensors.items():
        if value.dtype == torch.bfloat16 and value.dim() >= 2:
            bits = value.contiguous().view(torch.int16).flatten()  # (n,)
            out[key] = deflated((bits >> 7 & 0xFF).to(torch.uint8))
            out[key + REST] = (bits >> 8 & 0x80 | bits & 0x7F).to(torch.uint8)  # (n,)
            out[key + SHAPE] = torch.tensor(value.shape)
    return out


def deflated(codes: Tensor) -> Tensor:
    """Codes of a byte each, compressed. (n, …) -> uint8 (bytes,)"""
    small = zlib.compress(codes.cpu().contiguous().numpy().tobytes(), 9)
    return torch.frombuffer(bytearray(small), dtype=torch.uint8)


def write_tensors(folder: Path, name: str, tensors: dict[str, Tensor]) -> None:
    """Write `<name>.safetensors` so that a reader sees the old file or the whole new one."""
    with replacing(folder / f"{name}.safetensors") as temporary:
        save_file(tensors, temporary, metadata={"format": "pt"})


def load_strict(module: nn.Module, tensors: dict[str, Tensor], source: str) -> None:
    """Copy tensors into the module; every key must be there, expected, and of its shape."""
    own = module.state_dict()
    problems = [f"missing key {key}" for key in own if key not in tensors]
    problems += [f"unexpected key {key}" for key in tensors if key not in own]
    problems += [
        f"{key} has shape {tuple(tensors[key].shape)}, expected {tuple(own[key].shape)}"
        for key in own
        if key in tensors and tensors[key].shape != own[key].shape
    ]
    if problems:
        rest = f" (and {len(problems) - NAMED} more)" if len(problems) > NAMED else ""
        raise UserError(f"{source} does not fit its config: " + "; ".join(problems[:NAMED]) + rest)
    module.load_state_dict(tensors)


def config_from_dict(config_class: type, values: dict, source: str):
    """A config dataclass from JSON values; fields it does not know are refused by name."""
    known = {field.name for field in dataclasses.fields(config_class)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise UserError(f"{source}: unknown config fields {', '.join(unknown)}")
    try:
        return config_class(**values)
    except TypeError as error:
        raise UserError(f"{source}: {error}") from None


class Pretrained(nn.Module):
    """`from_pretrained` and `save_pretrained` for a module built from one dataclass config."""

    config_class: type
    folder: Path | None = None  # where the weights were read

    def saved_tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """What goes to disk: floating point in `dtype`, the rest as it is.

        torch.int8 packs the matrices: less than half of bfloat16's size, 8 bits beside its row's largest.
        """
        state = self.state_dict()
        if dtype == torch.int8:
            return {key: value.contiguous() for key, value in packed(state).items()}
        return {
            key: (value.to(dtype) if value.is_floating_point() else value).contiguous()
            for key, value in state.items()
        }

    def save_pretrained(
        self, folder: str | Path, name: str = WEIGHTS, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        """Write `<name>.safetensors`, and `config.json` when the part stands alone."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tensors = self.saved_tensors(dtype)
        if name != WEIGHTS:  # only we read parts of an omni checkpoint
            tensors = squeezed(tensors)
        write_tensors(folder, name, tensors)
        if name == WEIGHTS:
            write_json(folder / "config.json", dataclasses.asdict(self.config))

    @classmethod
    def from_pretrained(cls, folder: str | Path, name: str = WEIGHTS):
        """Load a part that stands alone, or one part of an omni checkpoint by its name.

        Raises:
            UserError: folder, config or weights missing, corrupt, or not fitting each other.
        """
        folder = Path(folder)
        values = read_json(folder / "config.json")
        if name != WEIGHTS:
            if name not in values.get("parts", {}):
                raise UserError(f"{folder} has no part called {name}")
            values = values["parts"][name]
        module = cls(config_from_dict(cls.config_class, values, str(folder / "config.json")))
        load_strict(module, read_tensors(folder, name), str(folder / f"{name}.safetensors"))
        module.folder = folder
        return module.eval()
