"""Looks side by side: all of them are there, and what does not go together is refused."""

import json

import pytest
import torch

from models.checkpoint import read_json
from models.errors import UserError
from models.glance import Glance, GlanceConfig
from training.together import main, together


def run(folder, seed: int, names: list[str]):
    """A finished run of the glance stage."""
    torch.manual_seed(seed)
    Glance(GlanceConfig([4, 8], hidden_size=64, names=names)).save_pretrained(folder, dtype=torch.float32)
    (folder / "training.json").write_text(json.dumps({"steps": seed}))
    return folder


def test_all_looks_are_kept_and_the_record_says_whose(tmp_path):
    folders = [run(tmp_path / str(seed), seed, ["fox"]) for seed in (1, 2)]
    main(["--out", str(tmp_path / "out"), *map(str, folders)])
    made = Glance.from_pretrained(tmp_path / "out")
    assert len(made.looks) == 2
    for look, folder in zip(made.looks, folders, strict=True):
        own = Glance.from_pretrained(folder).looks[0]
        torch.testing.assert_close(look.head.weight, own.head.weight.bfloat16().float())
    record = read_json(tmp_path / "out" / "training.json")
    assert record == {"steps": 2, "together": [str(folder) for folder in folders]}


def test_other_names_are_refused(tmp_path):
    folders = [run(tmp_path / "a", 1, ["fox"]), run(tmp_path / "b", 2, ["cat"])]
    with pytest.raises(UserError, match="b has other names or sizes than"):
        together(folders, tmp_path / "out")
    assert not (tmp_path / "out").exists()
