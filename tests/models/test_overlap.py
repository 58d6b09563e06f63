"""Pieces with their surroundings give what the whole gives, whatever the pieces."""

import pytest
import torch

from models.overlap import in_pieces


def blur(x: torch.Tensor) -> torch.Tensor:
    """Each output is the sum of five inputs, twice over: (1, t) -> (1, 2t)."""
    padded = torch.nn.functional.pad(x, (2, 2))
    return sum(padded[:, i : i + x.shape[1]] for i in range(5)).repeat_interleave(2, 1)


@pytest.mark.parametrize("sizes", [[40], [1] * 40, [3, 1, 30, 6], [2, 38], [38, 2]])
def test_joined_equals_whole(sizes):
    x = torch.arange(40.0)[None]
    pieces = list(in_pieces(blur, x.split(sizes, 1), reach=2, scale=2))
    assert torch.equal(torch.cat(pieces, 1), blur(x))


def test_settled_frames_do_not_wait_for_the_end():
    given = []

    def chunks():
        for part in torch.arange(40.0)[None].split(10, 1):
            given.append(part)
            yield part

    first = next(in_pieces(blur, chunks(), reach=2, scale=2))
    assert first.shape[1] == 16 and len(given) == 1


def test_nothing_in_nothing_out():
    assert list(in_pieces(blur, [], 2, 2)) == []
