"""Weights on disk: what `load_file` reads is a module's state_dict, and needs no unpacking."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from models.checkpoint import config_from_dict, read_json, read_shapes, read_tensors
from models.codec import MelCodec
from models.errors import UserError
from models.frontend import Frontend
from models.memory import MemoryAdapter, MemoryConfig
from models.ngram_lm import FILE, Level
from models.omni import PARTS
from models.projector import Projector, ProjectorConfig
from models.talker import Talker
from models.thinker import Thinker, ThinkerConfig
from models.vocoder import Vocoder

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
KINDS = PARTS | {"codec": MelCodec, "vocoder": Vocoder, "talker": Talker, "frontend": Frontend}
FLOATS = {torch.bfloat16, torch.float32}
INTEGERS = {torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.int64}
LIMIT_BYTES = 96_000_000  # of all checkpoints together


def described(path: Path) -> dict[str, torch.Tensor]:
    """The state_dict, without numbers, of the module that the config beside a weight file describes."""
    values = read_json(path.parent / "config.json")
    with torch.device("meta"):
        if path.stem != "model":
            kind = KINDS[path.stem]
            config = config_from_dict(kind.config_class, values["parts"][path.stem], str(path))
            return kind(config).state_dict()
        if "memory" in values:
            base = read_json(SHIPPED / "thinker_tiny" / "config.json")
            thinker = Thinker(ThinkerConfig.from_json(base, "thinker_tiny"))
            config = config_from_dict(MemoryConfig, values["memory"], str(path))
            state = MemoryAdapter.around(thinker, config).memory.state_dict()
            return {f"memory.{key}": value for key, value in state.items()}
        return Thinker(ThinkerConfig.from_json(values, str(path))).state_dict()


SHIPPED_WEIGHTS = sorted(path for path in SHIPPED.rglob("*.safetensors") if path.name != FILE)


@pytest.mark.parametrize("path", SHIPPED_WEIGHTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_shipped_weight_file_is_a_state_dict(path):
    tensors, state = load_file(path), described(path)
    assert {key: value.shape for key, value in tensors.items()} == {
        key: value.shape for key, value in state.items()
    }
    for key, value in tensors.items():
        assert value.dtype in (FLOATS if state[key].is_floating_point() else INTEGERS), key
        assert not value.is_floating_point() or value.isfinite().all(), key


def test_the_shipped_ngram_table_is_arrays_of_integers():
    [path] = SHIPPED.rglob(FILE)
    tensors = load_file(path)
    names = {f"{field.name}_{n}" for field in dataclasses.fields(Level) for n in (1, 2, 3)}
    assert tensors.keys() == names | {"vocabulary"}
    assert {value.dtype for value in tensors.values()} <= INTEGERS
    sizes = [len(tensors[f"logs_{n}"]) for n in (1, 2, 3)]
    assert bytes(tensors["vocabulary"].numpy()).decode().count("\n") + 1 == sizes[0]
    for n, size in enumerate(sizes, 1):
        assert len(tensors[f"words_{n}"]) == size and len(tensors[f"backs_{n}"]) == (size if n < 3 else 0)
        starts = tensors[f"starts_{n}"]
        assert n == 1 or (len(starts) == sizes[n - 2] + 1 and starts[-1] == size)
    last, starts = (tensors[f"{name}_3"].numpy().astype(np.int64) for name in ("words", "starts"))
    within = np.ones(sizes[2], bool)
    within[starts[starts < sizes[2]]] = False  # the first of each context has none before it
    assert (np.diff(last)[within[1:]] > 0).all()  # sorted as they stand: looked up by bisection


def test_checkpoints_are_small_enough_to_clone():
    files = [path for path in SHIPPED.rglob("*") if path.is_file()]
    assert len(SHIPPED_WEIGHTS) >= 10 and sum(path.stat().st_size for path in files) < LIMIT_BYTES


@pytest.mark.parametrize("name", ["model", "part"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_model_and_a_part_are_written_plainly(name, dtype, tmp_path):
    part = Projector(ProjectorConfig(64, 96))
    part.register_buffer("steps", torch.tensor(3))
    part.save_pretrained(tmp_path, name, dtype)
    tensors, state = load_file(tmp_path / f"{name}.safetensors"), part.state_dict()
    assert tensors.keys() == state.keys()
    for key, value in state.items():
        assert torch.equal(tensors[key], value.to(dtype) if value.is_floating_point() else value)
        assert tensors[key].dtype == (dtype if value.is_floating_point() else torch.int64)
    assert read_tensors(tmp_path, name).keys() == tensors.keys()
    assert read_shapes(tmp_path, name) == {key: value.shape for key, value in tensors.items()}


@pytest.mark.parametrize("damage", ["missing", "unexpected", "shape"])
def test_weights_that_do_not_fit_are_refused_by_name(damage, tmp_path):
    Projector(ProjectorConfig(64, 96)).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    if damage == "missing":
        del tensors["up.weight"]
    elif damage == "unexpected":
        tensors["up.weight_shape"] = torch.tensor([96, 96])  # as packed weights had beside them
    else:
        tensors["up.weight"] = tensors["up.weight"][:-1].contiguous()
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="up.weight"):
        Projector.from_pretrained(tmp_path)


def test_heads_that_do_not_fit_are_refused_with_their_file(tmp_path):
    Thinker(ThinkerConfig(vocab_size=64, hidden_size=32, head_dim=16)).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace('"num_key_value_heads": 2', '"num_key_value_heads": 3'))
    with pytest.raises(UserError, match=r"config\.json does not describe a Thinker: 4 heads cannot share 3"):
        Thinker.from_pretrained(tmp_path)
