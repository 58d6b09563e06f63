"""The mean of two runs' weights: exact, complete, and refused where it makes no sense."""

import json
from dataclasses import replace

import pytest
import torch

from models.audio import AudioEncoder
from models.checkpoint import read_json
from models.errors import UserError
from models.omni import OmniModel
from models.projector import Projector
from training.soup import main, soup


@pytest.fixture
def runs(nano_omni_dir, tmp_path):
    """Two finished runs, the second with every weight one larger."""
    folders = []
    for number in range(2):
        omni = OmniModel.from_pretrained(nano_omni_dir)
        with torch.no_grad():
            for parameter in omni.parameters():
                parameter.copy_(parameter.round() + number)
        folders.append(tmp_path / f"run{number}")
        omni.save_pretrained(folders[-1], dtype=torch.float32)
        (folders[-1] / "training.json").write_text(json.dumps({"stage": "omni", "steps": number}))
    return folders


def test_it_is_the_mean_and_says_of_what(runs, tmp_path):
    main(["--out", str(tmp_path / "out"), f"0.25={runs[0]}", f"0.75={runs[1]}"])
    first = OmniModel.from_pretrained(runs[0]).state_dict()
    made = OmniModel.from_pretrained(tmp_path / "out").state_dict()
    assert made.keys() == first.keys()
    for key, value in made.items():
        torch.testing.assert_close(value, first[key] + 0.75, rtol=0.01, atol=0.01)
    record = read_json(tmp_path / "out" / "training.json")
    assert (record["steps"], record["before"]["steps"]) == (1, 0)
    assert record["soup"] == [[0.25, str(runs[0])], [0.75, str(runs[1])]]


def test_shares_that_are_no_mean_are_refused(runs, tmp_path):
    with pytest.raises(UserError, match="not to 1"):
        soup({runs[0]: 0.5, runs[1]: 0.6}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def ears(nano_omni_dir, tmp_path):
    """Two finished runs of the audio stage, the second with every weight one larger."""
    folders = []
    for number in range(2):
        omni = OmniModel.from_pretrained(nano_omni_dir)
        folder = tmp_path / f"ears{number}"
        for part, place in ((omni.audio, folder), (omni.audio_projector, folder / "projector")):
            with torch.no_grad():
                for parameter in part.parameters():
                    parameter.copy_(parameter.round() + number)
            part.save_pretrained(place, dtype=torch.float32)
        (folder / "training.json").write_text(json.dumps({"stage": "audio", "steps": number}))
        folders.append(folder)
    return folders


def test_ears_are_averaged_with_their_projector(ears, tmp_path):
    soup({ears[0]: 0.5, ears[1]: 0.5}, tmp_path / "out")
    for kind, place in ((AudioEncoder, ""), (Projector, "projector")):
        first = kind.from_pretrained(ears[0] / place).state_dict()
        for key, value in kind.from_pretrained(tmp_path / "out" / place).state_dict().items():
            torch.testing.assert_close(value, first[key] + 0.5, rtol=0.01, atol=0.01)
    assert read_json(tmp_path / "out" / "training.json")["soup"][1] == [0.5, str(ears[1])]


def test_runs_of_two_stages_are_refused(runs, ears, tmp_path):
    with pytest.raises(UserError, match="audio and omni"):
        soup({runs[0]: 0.5, ears[0]: 0.5}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ears_of_less_depth_grow_first(ears, tmp_path):
    last = AudioEncoder.from_pretrained(ears[1])
    layers = last.config.num_layers
    AudioEncoder(replace(last.config, num_layers=layers + 1)).grow_from(last).save_pretrained(ears[1])
    main(["--out", str(tmp_path / "out"), f"0.5={ears[0]}", f"0.5={ears[1]}"])
    made, first = (AudioEncoder.from_pretrained(folder) for folder in (tmp_path / "out", ears[0]))
    assert len(made.layers) == layers + 1 and not made.layers[-1].mlp.down_proj.weight.any()
    between = (first.spell.weight + last.spell.weight) / 2
    torch.testing.assert_close(made.spell.weight, between, rtol=0.01, atol=0.01)
    with pytest.raises(UserError, match="cannot grow"):  # the deeper ones must come last
        soup({ears[1]: 0.5, ears[0]: 0.5}, tmp_path / "not")
