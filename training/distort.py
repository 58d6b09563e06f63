"""Photographs as if they had been taken again: turned, nearer, moved, mirrored, in other light.

Drawn with NumPy for each picture apart, so that a batch is the same however it is sliced; applied
to all of them at once.

Paper: random crops and colours as in arXiv:1409.4842. Without cutout and CutMix: the recipe shows a
photograph some thirty times; they did not pay at seven (docs/lab-notebook.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

SHIFT = 4  # pixels either way
TURNED = 0.5  # of the photographs are turned and zoomed, which blurs them; the rest are only moved
TURN = 12.0  # degrees either way
ZOOM = (0.75, 1.1)  # the side of what is seen, of the photograph's side
LIGHT = 0.25  # brightness, contrast and saturation: times 1 ± so much
BT601 = (0.299, 0.587, 0.114)  # of red, green and blue in brightness


@dataclass
class Draw:
    """What is done to one photograph."""

    affine: np.ndarray  # (2, 3) from places of the new picture to places of the old, in -1..1
    light: np.ndarray  # (3,) brightness, contrast, saturation


def draw(rng: np.random.Generator, side: int) -> Draw:
    """What may be done to a photograph of `side` pixels."""
    turn, move = np.eye(2), 2 * rng.integers(-SHIFT, SHIFT + 1, 2) / side
    if rng.random() < TURNED:
        angle, zoom = np.radians(rng.uniform(-TURN, TURN)), rng.uniform(*ZOOM, 2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * zoom
        move = move + rng.uniform(-1, 1, 2) * np.maximum(1 - zoom, 0)
    turn[:, 0] *= rng.choice((-1, 1))  # mirrored or not
    light = rng.uniform(1 - LIGHT, 1 + LIGHT, 3)
    return Draw(np.concatenate([turn, move[:, None]], 1).astype(np.float32), light)


def distorted(pictures: np.ndarray, draws: list[Draw]) -> Tensor:
    """uint8 (B, 3, side, side) -> float of the same shape, in 0..255"""
    x = torch.from_numpy(pictures).float()  # (B, 3, side, side)
    affine = torch.from_numpy(np.stack([one.affine for one in draws]))  # (B, 2, 3)
    grid = F.affine_grid(affine, list(x.shape), align_corners=False)
    x = F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)
    light = torch.from_numpy(np.stack([one.light for one in draws])).float()  # (B, 3)
    brightness, contrast, saturation = light[:, :, None, None, None].unbind(1)  # (B, 1, 1, 1) each
    grey = (x * torch.tensor(BT601)[:, None, None]).sum(1, keepdim=True)  # (B, 1, side, side)
    x = grey + saturation * (x - grey)
    mean = grey.mean((2, 3), keepdim=True)
    return (brightness * (mean + contrast * (x - mean))).clamp(0, 255)
