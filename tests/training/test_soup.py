"""The mean of two runs' weights: exact, complete, and refused where it makes no sense."""

import json

import pytest
import torch

from models.checkpoint import read_json
from models.errors import UserError
from models.omni import OmniModel
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
        (folders[-1] / "training.json").write_text(json.dumps({"steps": number}))
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
