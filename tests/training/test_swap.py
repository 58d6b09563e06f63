"""One part of a checkpoint replaced: its weights, record and row of the card, and nothing else."""

import json
import shutil

import pytest
import torch

from models.checkpoint import read_json, read_tensors
from models.errors import UserError
from models.expectation import Expectation
from models.finder import Finder, FinderConfig
from models.glance import Glance, GlanceConfig
from models.omni import OmniModel, save_part
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
    save_part(folder, "glance", glance(0, ["fox"]), torch.int8)
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
    # 8 bits a number now
    head, kept = new.looks[0].head.weight, old.looks[0].head.weight
    torch.testing.assert_close(head, given["looks.0.head.weight"].float(), rtol=0.01, atol=0.01)
    assert not torch.allclose(head, kept, rtol=0.01, atol=0.01)
    assert torch.equal(new.words, old.words)
    record = read_json(checkpoint / "training" / "glance.json")
    assert (record["steps"], record["before"]["steps"]) == (9, 7)
    card = (checkpoint / "README.md").read_text().splitlines()
    assert "train.py glance --preset nano" in card[1] and "| 9 |" in card[1]
    assert (card[0], card[2]) == ("# card", "| glance | 99 |")
    after = {path.name: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    assert [name for name in before if before[name] != after[name]] == ["glance.safetensors"]


def test_a_part_that_was_lacking_is_added(checkpoint, tmp_path):
    made = Finder(FinderConfig(input_size=64, names=["dog"], colors=["red"]))
    swap("finder", trained(tmp_path / "final", made), checkpoint)
    omni = OmniModel.from_pretrained(checkpoint)
    torch.testing.assert_close(
        omni.finder.heads["name"].weight, made.heads["name"].weight, rtol=0.02, atol=0.002
    )
    card = (checkpoint / "README.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in card] == ["# card", "| glance", "| finder", "| glance"]
    assert read_json(checkpoint / "training" / "finder.json")["steps"] == 9


def test_what_people_say_is_added_beside_the_thinker(checkpoint, tmp_path):
    made = Expectation.of(OmniModel.from_pretrained(checkpoint).thinker)
    torch.nn.init.normal_(made.words.weight, std=0.1)
    swap("expectation", trained(tmp_path / "final", made), checkpoint)
    omni = OmniModel.from_pretrained(checkpoint)
    ids = torch.arange(5)[None]
    torch.testing.assert_close(omni.judge(ids), made.judge(omni.thinker)(ids), rtol=0.02, atol=0.02)
    assert not torch.allclose(omni.judge(ids), omni.thinker(ids), rtol=0.02, atol=0.02)


def test_the_joint_stages_parts_come_together(checkpoint, nano_omni_dir, tmp_path):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    with torch.no_grad():
        for parameter in omni.parameters():
            parameter += 0.5
    folder = tmp_path / "final"
    omni.save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps(OLD))
    before = {path.stem: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    save_part(checkpoint, "expectation", Expectation.of(omni.thinker))
    swap("omni", folder, checkpoint)
    assert OmniModel.from_pretrained(checkpoint).judge is None  # it belonged to the Thinker before
    after = {path.stem: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"thinker", "vision_projector", "audio_projector"}


def test_a_glance_may_come_with_more_looks(checkpoint, tmp_path):
    both = Glance.together([glance(1, ["fox"]), glance(2, ["fox"])])
    swap("glance", trained(tmp_path / "final", both), checkpoint)
    assert len(Glance.from_pretrained(checkpoint, "glance").looks) == 2
    assert len(OmniModel.from_pretrained(checkpoint).glance.looks) == 2


def test_what_does_not_fit_is_refused_and_changes_nothing(checkpoint, tmp_path):
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="another configuration"):
        swap("glance", trained(tmp_path / "final", glance(1, ["fox", "cat"])), checkpoint)
    with pytest.raises(UserError, match="choose one of"):
        swap("thinker", tmp_path / "final", checkpoint)
    with pytest.raises(UserError):
        swap("glance", tmp_path / "nowhere", checkpoint)
    assert before == {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
