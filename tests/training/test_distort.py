"""Distorted photographs: what is moved, mirrored, hidden and recoloured, and what stays."""

import numpy as np
import pytest
import torch

from training.distort import GREY, HOLE, SHIFT, Draw, distorted, draw, window

PLAIN = np.array([1.0, 1.0, 1.0])


def still() -> np.ndarray:
    return np.eye(2, 3, dtype=np.float32)


def pictures() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)


def test_nothing_done_changes_nothing():
    made = distorted(pictures(), [Draw(still(), PLAIN, None)] * 2)
    torch.testing.assert_close(made, torch.from_numpy(pictures()).float(), atol=1e-2, rtol=0)


def test_moved_mirrored_and_hidden():
    moved, mirrored = still(), still()
    moved[0, 2] = 2 * 3 / 32  # what was three pixels to the right
    mirrored[0, 0] = -1
    before = torch.from_numpy(pictures()).float()
    made = distorted(pictures(), [Draw(moved, PLAIN, (4, 5)), Draw(mirrored, PLAIN, None)])
    torch.testing.assert_close(made[1], before[1].flip(2), atol=1e-2, rtol=0)
    hidden = torch.zeros(32, 32, dtype=torch.bool)
    hidden[4 : 4 + HOLE, 5 : 5 + HOLE] = True
    assert (made[0][:, hidden] == GREY).all()
    shifted = before[0, :, :, 3:][:, ~hidden[:, :-3]]
    torch.testing.assert_close(made[0, :, :, :-3][:, ~hidden[:, :-3]], shifted, atol=1e-2, rtol=0)


def test_without_saturation_it_is_grey_and_without_contrast_flat():
    lights = [np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    grey, flat = distorted(pictures(), [Draw(still(), light, None) for light in lights])
    assert (grey.std(0) < 1e-3).all() and grey.std() > 10
    assert flat.std() < 1e-3


def test_draws_follow_the_seed_and_keep_half_of_the_photographs_sharp():
    draws = [draw(np.random.default_rng(seed), 32) for seed in range(200)]
    assert np.array_equal(draws[7].affine, draw(np.random.default_rng(7), 32).affine)
    sharp = [one for one in draws if (abs(one.affine[:, :2]) == np.eye(2)).all()]
    pixels = [one.affine[:, 2] * 16 for one in sharp]
    assert 70 < len(pixels) < 130
    assert all(np.allclose(p, p.round(), atol=1e-4) and abs(p).max() <= SHIFT for p in pixels)
    assert 70 < sum(one.hole is not None for one in draws) < 130
    assert 70 < sum(one.affine[0, 0] < 0 for one in draws) < 130


def test_windows_cover_any_share_and_stay_inside():
    areas = []
    for seed in range(300):
        rows, columns = window(np.random.default_rng(seed), 32)
        assert 0 <= rows.start <= rows.stop <= 32 and 0 <= columns.start <= columns.stop <= 32
        areas.append((rows.stop - rows.start) * (columns.stop - columns.start) / 32**2)
    assert min(areas) < 0.02 and max(areas) > 0.7
    assert np.mean(areas) == pytest.approx(0.35, abs=0.15)
