"""Saving and loading: `config.json` beside safetensors, Hugging Face's layout.

Weights are stored plainly: `safetensors.torch.load_file` gives a module's state_dict, in bfloat16.
Loading is strict. A missing, extra or mis-shaped key is an error that names the key, because a
part left at random weights looks loaded and is not. Pickle is never read.
"""

import dataclasses
import json
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

WEIGHTS = "model"  # default stem: model.safetensors beside config.json
MOST_LAYERS, LARGEST_SIZE = 1024, 2**24  # of any config: what lies above is damage
UNFIT = (  # what building raises when sizes do not go together
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
            tensors.update(load_file(path))
    return tensors


def read_shapes(folder: Path, name: str = WEIGHTS) -> dict[str, torch.Size]:
    """Shapes of all tensors of a part, from the files' headers: nothing else is read."""
    shapes: dict[str, torch.Size] = {}
    for path in weight_files(folder, name):
        with reading_weights(path), safe_open(path, "pt") as file:
            for key in file.keys():  # noqa: SIM118
                shapes[key] = torch.Size(file.get_slice(key).get_shape())
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
    except (SafetensorError, OSError, *UNFIT) as error:
        raise UserError(f"corrupt weights: {path} ({error}). Get the file again") from None


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
    for name, value in good.items():  # what is too large would fill the memory once built
        most = MOST_LAYERS if name.endswith("layers") else LARGEST_SIZE
        if type(value) is int and value >= most:
            lines.append(f"{name} must be below {most}, not {shown(value)}")
        elif type(value) in (int, float) and not value >= 0:  # or not a number
            lines.append(f"{name} must not be below 0, not {value}")
    if lines:
        raise UserError(f"{source}: " + "; ".join(lines))
    try:
        return config_class(**good)
    except UNFIT as error:
        raise UserError(f"{source}: {error}") from None


def built(module_class: type, config, source: str) -> nn.Module:
    """The network of a config; UserError where its sizes do not go together."""
    try:
        return module_class(config)
    except (UserError, *UNFIT) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{source} does not describe a {module_class.__name__}: {reason}") from None


class Pretrained(nn.Module):
    """`from_pretrained` and `save_pretrained` for a module built from one dataclass config."""

    config_class: type
    folder: Path | None = None  # where the weights were read

    def saved_tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """What goes to disk: floating point in `dtype`, the rest as it is."""
        return {
            key: (value.to(dtype) if value.is_floating_point() else value).contiguous()
            for key, value in self.state_dict().items()
        }

    def save_pretrained(
        self, folder: str | Path, name: str = WEIGHTS, dtype: torch.dtype = torch.bfloat16
    ) -> None:
        """Write `<name>.safetensors`, and `config.json` when the part stands alone."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(folder, name, self.saved_tensors(dtype))
        if name == WEIGHTS:
            write_json(folder / "config.json", self.config_values())

    def config_values(self) -> dict:
        """What `config.json` says."""
        return dataclasses.asdict(self.config)

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
