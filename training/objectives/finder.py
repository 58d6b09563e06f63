"""Objective of the finder stage: read off the finished eyes' tokens what stands where.

The eyes stay as they are, so each picture is looked at once, before training; what is left are linear
layers, which learn in minutes. Labels are those of the vision stage (data/render.py): they are free
in a world that we render.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from data.captions import background_phrase, sights
from data.objects import COLORS, EMOJI_KINDS, SHAPE_KINDS, WORDS
from data.render import PLANES
from data.scene import Scene
from data.shards import ShardReader
from models.finder import Finder, FinderConfig, middles
from models.notes import CELL
from models.omni import OmniModel
from models.vision import VisionEncoder
from training.media import picture
from training.objective import Loss, Paths, epoch_order, slice_bounds, to_device

LOOKED = 32  # pictures looked at together
COVERED = 0.25  # weight of a cell that a thing covers, beside 1 of the cell of its centre
REACH = 40.0  # pixels: cells so far from a centre tell where it is


class FinderTask(nn.Module):
    """The finder with its loss: forward(batch) -> Loss, in nats per picture."""

    def __init__(self, config: FinderConfig):
        super().__init__()
        self.finder = Finder(config)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        told = {name: logits.float() for name, logits in self.finder(batch["tokens"].float()).items()}
        cells = dict(zip(PLANES, batch["cells"].flatten(2).unbind(1), strict=True))  # (B, 49) each
        thing, centre = cells["object"] > 0, cells["centre"] > 0
        weight = COVERED * thing + (1 - COVERED) * centre  # (B, 49)
        sign = cells["sign"] > 0
        shape = thing & (cells["object"] <= self.finder.config.shapes)
        total = binary(told["centre"], centre, torch.ones_like(weight))
        total = total + binary(told["large"], (cells["size"] == 2) | sign, weight)
        total = total + choice(told["name"], cells["object"] - 1, weight)
        total = total + choice(told["color"], cells["color"] - 1, weight * shape)
        total = total + choice(told["word"], cells["sign"] - 1, weight * sign)
        for place, digits in enumerate(told["digits"].unflatten(2, (3, -1)).unbind(2)):
            label = cells[PLANES[PLANES.index("digit_hundreds") + place]]  # (B, 49)
            total = total + choice(digits, label, weight * sign)
        far = F.smooth_l1_loss(told["offset"], batch["offset"], reduction="none", beta=0.1).sum(-1)
        total = total + (far * batch["near"]).sum()
        background, striped = told["background"], told["striped"][:, 0]
        total = total + F.cross_entropy(background, batch["background"], reduction="sum")
        total = total + F.binary_cross_entropy_with_logits(striped, batch["striped"], reduction="sum")
        right = (told["name"].argmax(-1) == cells["object"] - 1) & centre
        return Loss(total, len(thing), {"names": (right.sum().detach(), centre.sum())})


def choice(logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Summed cross-entropy: logits (B, 49, n), labels (B, 49), weight (B, 49), 0 where no label is."""
    loss = F.cross_entropy(logits.flatten(0, 1), labels.clamp(min=0).flatten(), reduction="none")
    return (loss * weight.flatten()).sum()


def binary(logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """The same of yes and no: logits (B, 49, 1)."""
    loss = F.binary_cross_entropy_with_logits(logits[..., 0], labels.float(), reduction="none")
    return (loss * weight).sum()


class FinderObjective:
    """Batches of looked-at pictures, whole pictures found rightly on dev, and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        vision = OmniModel.from_pretrained(paths.need("omni")).vision
        self.vision = vision.to("cuda" if torch.cuda.is_available() else "cpu")
        readers = [ShardReader(paths.data / "scenes_train")]
        if config["data"]["signs"]:
            readers.append(ShardReader(paths.data / "signs_train"))
        count = config["data"]["scenes"]
        self.train = look(self.vision, [(r, i) for r in readers for i in range(min(count, len(r)))])
        dev = ShardReader(paths.data / "scenes_dev")
        self.dev_scenes = [
            Scene.from_dict(dev.record(i)["scene"]) for i in range(min(config["data"]["dev"], len(dev)))
        ]
        self.dev = look(self.vision, [(dev, i) for i in range(len(self.dev_scenes))])
        self.model = FinderTask(vocabulary(vision.config.hidden_size))

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        count, chosen = len(self.train["striped"]), []
        for place in slice_bounds(self.size, rank, world):
            epoch, at = divmod(step * self.size + place, count)
            chosen.append(int(epoch_order(self.seed, epoch, count)[at]))
        return {name: values[chosen] for name, values in self.train.items()}

    def validate(self) -> dict[str, float]:
        """Shares of unseen pictures whose things, and whose backgrounds, are all told rightly."""
        tokens = to_device(self.dev["tokens"], next(self.model.parameters()).device)
        found = self.model.finder.find(tokens.float())
        things = backgrounds = 0
        for one, scene in zip(found, self.dev_scenes, strict=True):
            things += Counter(s.one for s in one.sights) == Counter(s.one for s in sights(scene))
            backgrounds += one.background == background_phrase(scene)
        return {"things": things / len(found), "background": backgrounds / len(found)}

    def save(self, folder: Path) -> None:
        self.model.finder.save_pretrained(folder)


def vocabulary(width: int) -> FinderConfig:
    """All that a scene can hold, for eyes of so many channels."""
    kinds = SHAPE_KINDS + EMOJI_KINDS
    names, plurals = [kind.name for kind in kinds], [kind.plural for kind in kinds]
    return FinderConfig(width, names, plurals, len(SHAPE_KINDS), list(COLORS), list(WORDS))


@torch.inference_mode()
def look(vision: VisionEncoder, places: list[tuple[ShardReader, int]]) -> dict[str, Tensor]:
    """What the eyes make of N pictures, and the truth about them.

    tokens half (N, 49, D), cells (N, planes, 7, 7), offset (N, 49, 2) in cells, near (N, 49), 1 where the
    offset counts, background (N,), striped (N,)
    """
    made: dict[str, list[Tensor]] = {}
    weight = next(vision.parameters())
    with tqdm(total=len(places), desc="looking", unit="picture") as bar:
        for start in range(0, len(places), LOOKED):
            records = [reader[i] for reader, i in places[start : start + LOOKED]]
            pixels = torch.stack([picture(r["image"]) for r in records]).to(weight.device)
            scenes = [Scene.from_dict(r["scene"]) for r in records]
            offset, near = zip(*map(centres, scenes), strict=True)
            fresh = {
                "tokens": vision(pixels).half().cpu(),  # (B, 49, D)
                "cells": torch.from_numpy(np.stack([r["cells"] for r in records]).astype(np.int64)),
                "offset": torch.stack(offset),
                "near": torch.stack(near),
                "background": torch.tensor([list(COLORS).index(s.background.color) for s in scenes]),
                "striped": torch.tensor([float(s.background.kind == "stripes") for s in scenes]),
            }
            for name, values in fresh.items():
                made.setdefault(name, []).append(values)
            bar.update(len(records))
    return {name: torch.cat(values) for name, values in made.items()}


def centres(scene: Scene) -> tuple[Tensor, Tensor]:
    """Where the nearest thing's centre is, seen from each cell's middle, in cells, and whether it is in
    reach: (49, 2), (49,)"""
    at = torch.tensor([[thing.x, thing.y] for thing in scene.things]) / CELL  # (n, 2)
    away = at[None] - middles()[:, None]  # (49, n, 2)
    distance, nearest = away.abs().amax(-1).min(1)  # (49,) each
    return away[torch.arange(len(away)), nearest], (distance < REACH / CELL).float()


def prepare(config: dict, paths: Paths) -> None:
    """Nothing: the scenes are there from the vision stage."""


def build(config: dict, paths: Paths) -> FinderObjective:
    """The objective of stage `finder`."""
    return FinderObjective(config, paths)
