"""Saving and loading: `config.json` beside safetensors, Hugging Face's layout.

Loading is strict. A missing, extra or mis-shaped key is an error that names the key, because a
part left at random weights looks loaded and is not. Pickle is never read.
"""

import dataclasses
import json
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from models.errors import UserError
from models.fields import misfits, shown
from models.files import replacing
from models.quantization import quantise_rows, ternary, to_trits, trits

WEIGHTS = "model"  # default stem: model.safetensors beside config.json
SHAPE = "_shape"  # beside a deflated matrix, whose bytes are in a row
SCALE = "_scale"  # beside its int8 codes, as compressed-tensors names it
STEP = "_step"  # beside its codes of -1, 0 and 1: what a one stands for, of each row
REST = "_rest"  # beside its exponents: sign and mantissa, 8 bits each, which do not deflate
MOST_LAYERS, LARGEST_SIZE = 1024, 2**24  # of any config: what lies above is damage
UNFIT = (  # what building or unpacking raises when sizes do not go together
    *(TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError, ArithmeticError),
    *(AssertionError, MemoryError),
)
NAMED = 3  # how many offending keys an error names before it counts the rest


def read_json(path: Path) -> dict:
    """A JSON object from a file; UserError when it is missing or not JSON."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"no {path.name} in {path.parent}: is this a checkpoint folder?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path} must hold a JSON object, not {shown(values)}")
    return values


def write_json(path: Path, content: dict) -> None:
    """Write JSON so that a reader sees the old file or the whole new one."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_tensors(folder: Path, name: str = WEIGHTS) -> dict[str, Tensor]:
    """All tensors of `<name>.safetensors`, or of its shards when there is an index file."""
    tensors: dict[str, Tensor] = {}
    for path in weight_files(folder, name):
        with reading_weights(path):
            tensors.update(unpacked(load_file(path)))
    return tensors


def read_shapes(folder: Path, name: str = WEIGHTS) -> dict[str, torch.Size]:
    """Shapes of all tensors of a part, from the files' headers: nothing else is read."""
    shapes: dict[str, torch.Size] = {}
    for path in weight_files(folder, name):
        with reading_weights(path), safe_open(path, "pt") as file:
            keys = set(file.keys())
            whole = {key.removesuffix(SHAPE) for key in keys if key.endswith(SHAPE)}
            beside = {key + end for key in whole for end in (SHAPE, SCALE, STEP, REST)}
            for key in keys - beside:
                shape = file.get_tensor(key + SHAPE) if key in whole else file.get_slice(key).get_shape()
                shapes[key] = torch.Size(shape.tolist() if key in whole else shape)
    return shapes


def weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files of a part: one, or the shards that an index file lists."""
    index = folder / f"{name}.safetensors.index.json"
    files = [f"{name}.safetensors"]
    if index.exists():
        try:
            files = sorted({str(file) for file in read_json(index)["weight_map"].values()})
        except (KeyError, AttributeError):
            raise UserError(f"{index} lists no files: it needs a weight_map") from None
    for file in files:
        if not (folder / file).is_file():
            raise UserError(f"missing weights: {folder / file}. Train them, or check --ckpt_dir")
    return [folder / file for file in files]


@contextmanager
def reading_weights(path: Path) -> Iterator[None]:
    """What a damaged file raises within the block is one line."""
    try:
        yield
    except (SafetensorError, OSError, zlib.error, *UNFIT) as error:
        raise UserError(f"corrupt weights: {path} ({error}). Get the file again") from None


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
    check_shapes(module, {key: value.shape for key, value in tensors.items()}, source)
    module.load_state_dict(tensors)


def check_shapes(module: nn.Module, shapes: dict[str, torch.Size], source: str) -> None:
    """Refuse tensors of which a key is missing, not expected, or of another shape."""
    own = module.state_dict()
    problems = [f"missing key {key}" for key in own if key not in shapes]
    problems += [f"unexpected key {key}" for key in shapes if key not in own]
    problems += [
        f"{key} has shape {tuple(shapes[key])}, expected {tuple(own[key].shape)}"
        for key in own
        if key in shapes and shapes[key] != own[key].shape
    ]
    if problems:
        rest = f" (and {len(problems) - NAMED} more)" if len(problems) > NAMED else ""
        raise UserError(f"{source} does not fit its config: " + "; ".join(problems[:NAMED]) + rest)


def config_from_dict(config_class: type, values: dict, source: str):
    """A config dataclass from JSON values, each held against its field's type and sane bounds.

    Raises:
        UserError: names the wrong fields.
    """
    if not isinstance(values, dict):
        raise UserError(f"{source}: a config is a set of keys and values, not {shown(values)}")
    good, lines = misfits(config_class, values)
    lines += [f"{name} must be below {most}, not {shown(value)}" for name, value, most in too_large(good)]
    lines += [f"{name} must not be below 0, not {value}" for name, value in good.items() if below(value)]
    if lines:
        raise UserError(f"{source}: " + "; ".join(lines))
    try:
        return config_class(**good)
    except UNFIT as error:
        raise UserError(f"{source}: {error}") from None


def too_large(values: dict) -> Iterator[tuple[str, int, int]]:
    """Sizes beyond what any model has: building it would fill the memory."""
    for name, value in values.items():
        most = MOST_LAYERS if name.endswith("layers") else LARGEST_SIZE
        if type(value) is int and value >= most:
            yield name, value, most


def below(value) -> bool:
    """Whether a size is none: negative, or not a number."""
    return type(value) in (int, float) and not value >= 0


def built(module_class: type, config, source: str) -> nn.Module:
    """The network of a config; UserError where its sizes do not go together."""
    try:
        return module_class(config)
    except UNFIT as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{source} does not describe a {module_class.__name__}: {reason}") from None


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
        module, config = cls.checked(Path(folder), name)
        source = str(Path(folder) / f"{name}.safetensors")
        module = built(cls, config, source)
        load_strict(module, read_tensors(Path(folder), name), source)
        module.folder = Path(folder)
        return module.eval()

    @classmethod
    def checked(cls, folder: Path, name: str = WEIGHTS) -> tuple[nn.Module, object]:
        """The part without its weights, and its config: both held against the files' headers.

        Raises:
            UserError: as `from_pretrained`; what it finds is found without reading the weights.
        """
        path = folder / "config.json"
        values = read_json(path)
        if name != WEIGHTS:
            parts = values.get("parts")
            if not isinstance(parts, dict) or name not in parts:
                raise UserError(f"{folder} has no part called {name}")
            values, source = parts[name], f"{path}, part {name}"
        else:
            source = str(path)
        config = config_from_dict(cls.config_class, values, source)
        with torch.device("meta"):  # sizes are known, nothing is allocated
            module = built(cls, config, source)
        check_shapes(module, read_shapes(folder, name), str(folder / f"{name}.safetensors"))
        return module, config
