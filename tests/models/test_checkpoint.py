"""Weights on disk: eight bits come back near, squeezed ones to the bit."""

import zlib

import pytest
import torch
from safetensors.torch import load_file

from models.checkpoint import packed, squeezed, unpacked
from models.projector import Projector, ProjectorConfig


def test_packed_matrices_are_eight_bits_and_come_back():
    matrix, bias = torch.randn(5, 3, 4), torch.randn(5)
    small = packed({"a.weight": matrix, "a.bias": bias, "steps": torch.tensor(3)})
    codes = zlib.decompress(small["a.weight"].numpy().tobytes())
    assert len(codes) == matrix.numel() and small["a.weight_shape"].tolist() == list(matrix.shape)
    back = unpacked(small)
    assert back.keys() == {"a.weight", "a.bias", "steps"}
    step = matrix.flatten(1).abs().amax(1)[:, None, None] / 127
    assert ((back["a.weight"] - matrix).abs() <= step / 2 + 1e-6).all()
    assert back["a.bias"].float().tolist() == pytest.approx(bias.tolist(), rel=0.01)


def test_squeezed_numbers_are_the_same_to_the_bit():
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16)  # each number that bfloat16 has
    matrix, bias = every.view(torch.bfloat16).view(256, 256), torch.tensor([0.1], dtype=torch.bfloat16)
    back = unpacked(squeezed({"a": matrix, "b": bias, "steps": torch.tensor(3)}))
    assert back.keys() == {"a", "b", "steps"} and back["steps"] == 3
    assert back["a"].shape == (256, 256) and torch.equal(back["a"].view(torch.int16).flatten(), every)
    assert torch.equal(back["b"], bias)


def test_a_part_of_a_checkpoint_is_squeezed_and_a_model_by_itself_is_not(tmp_path):
    part = Projector(ProjectorConfig(64, 96))
    part.save_pretrained(tmp_path)
    part.save_pretrained(tmp_path, "part")
    plain, small = (load_file(tmp_path / f"{name}.safetensors") for name in ("model", "part"))
    back = unpacked(small)
    assert plain.keys() == back.keys() != small.keys()
    assert all(torch.equal(plain[key], back[key]) for key in plain)
    sizes = [sum(t.numel() * t.element_size() for t in kept.values()) for kept in (plain, small)]
    assert sizes[1] < 0.75 * sizes[0]  # 11 bits of 16, and a little
