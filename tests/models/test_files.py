"""A file is replaced whole or stays as it was."""

import pytest
import torch
from safetensors.torch import save_file

from models.files import replacing


def test_replaces_when_all_went_well(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_weights_may_be_read_by_whom_the_user_lets(tmp_path):
    """safetensors alone would let nobody else."""
    (tmp_path / "beside.txt").touch()
    with replacing(tmp_path / "a.safetensors") as temporary:
        save_file({"x": torch.ones(2)}, temporary)
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "beside.txt").stat().st_mode
