"""Distorted photographs: what is moved, mirrored and recoloured, and what stays."""

import numpy as np
import torch

from training.distort import SHIFT, TURN, Draw, distorted, draw

PLAIN = np.array([1.0, 1.0, 1.0])


def still() -> np.ndarray:
    return np.eye(2, 3, dtype=np.float32)


def pictures() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)


def test_nothing_done_changes_nothing():
    made = distorted(pictures(), [Draw(still(), PLAIN)] * 2)
    torch.testing.assert_close(made, torch.from_numpy(pictures()).float(), atol=1e-2, rtol=0)


def test_moved_and_mirrored():
    moved, mirrored = still(), still()
    moved[0, 2] = 2 * 3 / 32  # what was three pixels to the right
    mirrored[0, 0] = -1
    before = torch.from_numpy(pictures()).float()
    made = distorted(pictures(), [Draw(moved, PLAIN), Draw(mirrored, PLAIN)])
    torch.testing.assert_close(made[1], before[1].flip(2), atol=1e-2, rtol=0)
    torch.testing.assert_close(made[0, :, :, :-3], before[0, :, :, 3:], atol=1e-2, rtol=0)


def test_without_saturation_it_is_grey_and_without_contrast_flat():
    lights = [np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    grey, flat = distorted(pictures(), [Draw(still(), light) for light in lights])
    assert (grey.std(0) < 1e-3).all() and grey.std() > 10
    assert flat.std() < 1e-3


def test_draws_follow_the_seed_and_keep_half_of_the_photographs_sharp():
    draws = [draw(np.random.default_rng(seed), 32) for seed in range(200)]
    assert np.array_equal(draws[7].affine, draw(np.random.default_rng(7), 32).affine)
    sharp = [one for one in draws if (abs(one.affine[:, :2]) == np.eye(2)).all()]
    pixels = [one.affine[:, 2] * 16 for one in sharp]
    assert 70 < len(pixels) < 130
    assert all(np.allclose(p, p.round(), atol=1e-4) and abs(p).max() <= SHIFT for p in pixels)
    assert 70 < sum(one.affine[0, 0] < 0 for one in draws) < 130


def test_photographs_are_turned_by_a_few_degrees_at_most():
    affines = [draw(np.random.default_rng(seed), 32).affine for seed in range(200)]
    degrees = [abs(np.degrees(np.arctan(affine[1, 0] / affine[0, 0]))) for affine in affines]
    assert 0.8 * TURN < max(degrees) <= TURN + 0.01
