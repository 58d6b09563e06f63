"""One part of a checkpoint replaced: its weights, record and row of the card, and nothing else."""

import json
import shutil

import pytest
import torch

from models.checkpoint import read_json, read_tensors
from models.errors import UserError
from models.glance import Glance, GlanceConfig
from models.omni import save_part
from training.swap import swap

OLD = {"seed": 0, "steps": 7, "seconds": 1.5, "device": "cpu", "preset": "nano", "command": "train.py"}
NEW = OLD | {"steps": 9, "command": "train.py glance --init_from x"}


def glance(seed: int, names: list[str]) -> Glance:
    torch.manual_seed(seed)
    made = Glance(GlanceConfig([4, 8], hidden_size=64, names=names))
    torch.nn.init.normal_(made.words)
    return made


@pytest.fixture
def checkpoint(nano_omni_dir, tmp_path):
    folder = tmp_path / "omni"
    shutil.copytree(nano_omni_dir, folder)
    save_part(folder, "glance", glance(0, ["fox"]))
    (folder / "training").mkdir()
    (folder / "training" / "glance.json").write_text(json.dumps(OLD))
    (folder / "README.md").write_text("# card\n| glance | `old` | 0 | 7 | 1.5 | cpu |\n| glance | 99 |\n")
    return folder


def trained(folder, made: Glance):
    made.save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps(NEW))
    return folder


def test_the_part_comes_with_its_record_and_the_names_stay_readable(checkpoint, tmp_path):
    before = {path.name: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    old = Glance.from_pretrained(checkpoint, "glance")
    swap("glance", trained(tmp_path / "final", glance(1, ["fox"])), checkpoint)
    new, given = Glance.from_pretrained(checkpoint, "glance"), read_tensors(tmp_path / "final")
    assert torch.equal(new.head.weight, given["head.weight"].float())
    assert not torch.equal(new.head.weight, old.head.weight)
    assert torch.equal(new.words, old.words)
    record = read_json(checkpoint / "training" / "glance.json")
    assert (record["steps"], record["before"]["steps"]) == (9, 7)
    card = (checkpoint / "README.md").read_text().splitlines()
    assert "train.py glance --preset nano" in card[1] and "| 9 |" in card[1]
    assert (card[0], card[2]) == ("# card", "| glance | 99 |")
    after = {path.name: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    assert [name for name in before if before[name] != after[name]] == ["glance.safetensors"]


def test_what_does_not_fit_is_refused_and_changes_nothing(checkpoint, tmp_path):
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="another configuration"):
        swap("glance", trained(tmp_path / "final", glance(1, ["fox", "cat"])), checkpoint)
    with pytest.raises(UserError, match="choose one of"):
        swap("thinker", tmp_path / "final", checkpoint)
    with pytest.raises(UserError):
        swap("glance", tmp_path / "nowhere", checkpoint)
    assert before == {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
