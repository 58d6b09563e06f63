"""Objective of the finder stage: read off the finished eyes' tokens what stands where.

The eyes stay as they are, so each picture is looked at once, before training; what is left are linear
layers, which learn in minutes. Labels are those of the vision stage (data/scenes/render.py): they are free
in a world that we render.

Some colours of some shapes are held out, and a linear layer that never saw a brown hexagon takes the
brown for a sign against it. But what colour and shape each add to a token is nearly a sum. So shapes are
lent other colours and names: the difference of both is added to the token, and the labels change
with it (feature-space augmentation, arXiv:1702.05538). Held-out pairs stay held out.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from data.scenes.captions import sights
from data.scenes.objects import COLORS, EMOJI_KINDS, SHAPE_KINDS, WORDS
from data.scenes.render import PLANES
from data.scenes.scene import Scene
from data.shards import ShardReader
from models.finder import Finder, FinderConfig, middles
from models.notes import CELL, GRID
from models.omni import OmniModel
from models.vision import VisionEncoder
from training.media import picture
from training.objective import Loss, Paths, epoch_order, slice_bounds, to_device

LOOKED = 32  # pictures looked at together
COVERED = 0.25  # weight of a cell that a thing covers, beside 1 of the cell of its centre
CLAIMED = 22.0  # pixels: cells whose middle is so near to a centre claim it, one to four of them
OFFSET = 3.0  # weight of a smooth L1 distance in cells, beside nats
LENT = 0.7  # of the shapes in a batch have the name and colour of another lent to them
SORTS = (("object", len(SHAPE_KINDS)), ("color", len(COLORS)))  # planes whose labels are lent


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
        claimed = batch["offset"].abs().amax(-1) < CLAIMED / CELL  # (B, 49)
        total = binary(told["centre"], claimed, torch.ones_like(weight))
        total = total + binary(told["large"], (cells["size"] == 2) | sign, weight)
        total = total + choice(told["name"], cells["object"] - 1, weight)
        total = total + choice(told["color"], cells["color"] - 1, weight * (cells["color"] > 0))
        total = total + choice(told["word"], cells["sign"] - 1, weight * sign)
        for place, digits in enumerate(told["digits"].unflatten(2, (3, -1)).unbind(2)):
            label = cells[PLANES[PLANES.index("digit_hundreds") + place]]  # (B, 49)
            total = total + choice(digits, label, weight * sign)
        far = F.smooth_l1_loss(told["offset"], batch["offset"], reduction="none", beta=0.1).sum(-1)
        total = total + OFFSET * (far * claimed).sum()
        total = total + F.cross_entropy(told["background"], batch["background"], reduction="sum")
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
            Scene.from_dict(dev.record(i)["scene"]) for i in range(min(config["data"]["held_out"], len(dev)))
        ]
        self.dev = look(self.vision, [(dev, i) for i in range(len(self.dev_scenes))])
        self.model = FinderTask(vocabulary(vision.config.hidden_size))
        self.effects = effects(self.train["tokens"], self.train["cells"])

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        count, chosen = len(self.train["background"]), []
        places = slice_bounds(self.size, rank, world)
        for place in places:
            epoch, at = divmod(step * self.size + place, count)
            chosen.append(int(epoch_order(self.seed, epoch, count)[at]))
        batch = {name: values[chosen] for name, values in self.train.items()}
        draws = np.random.default_rng([self.seed, step]).random((3, self.size, GRID * GRID))
        return batch | lend(batch, torch.from_numpy(draws[:, places.start : places.stop]), *self.effects)

    def validate(self) -> dict[str, float]:
        """Shares of unseen pictures whose things, and whose backgrounds, are all told rightly."""
        tokens = to_device(self.dev["tokens"], next(self.model.parameters()).device)
        found = self.model.finder.find(tokens.float())
        things = backgrounds = 0
        for one, scene in zip(found, self.dev_scenes, strict=True):
            things += Counter(s.one for s in one.sights) == Counter(s.one for s in sights(scene))
            backgrounds += one.background == scene.background.color
        return {"things": things / len(found), "background": backgrounds / len(found)}

    def save(self, folder: Path) -> None:
        self.model.finder.save_pretrained(folder)


def vocabulary(width: int) -> FinderConfig:
    """All that a scene can hold, for eyes of so many channels."""
    kinds = SHAPE_KINDS + EMOJI_KINDS
    plurals = {kind.name: kind.plural for kind in kinds if kind.plural != kind.name + "s"}
    names = [kind.name for kind in kinds]
    return FinderConfig(width, names, plurals, len(SHAPE_KINDS), list(COLORS), list(WORDS))


def effects(tokens: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
    """What each shape and each colour add to the token of a shape's centre: (shapes, D), (colours, D).

    By least squares over all of them. tokens (N, 49, D), cells (N, planes, 7, 7)
    """
    plane = dict(zip(PLANES, cells.flatten(2).unbind(1), strict=True))  # (N, 49) each
    where = (plane["centre"] > 0) & (plane["object"] <= len(SHAPE_KINDS))
    known = [F.one_hot(plane[name][where] - 1, n) for name, n in SORTS]  # (n, shapes), (n, colours)
    design = torch.cat(known, 1).double()
    gram = design.T @ design + 1e-3 * torch.eye(design.shape[1])  # the two sorts share a constant
    found = torch.linalg.solve(gram, design.T @ tokens[where].double()).float()
    return found.split([n for _, n in SORTS])


def lend(batch: dict[str, Tensor], draws: Tensor, *added: Tensor) -> dict[str, Tensor]:
    """Tokens and cells of a batch in which LENT of the shapes are of another name and colour.

    Args:
        draws: (3, B, 49) in 0..1: whether, and what.
        added: of each sort, what each of its kind adds to a token.
    """
    tokens, cells = batch["tokens"].float(), batch["cells"].flatten(2).clone()  # (B, planes, 49)
    names, centre = cells[:, PLANES.index("object")], cells[:, PLANES.index("centre")] > 0
    lent = centre & (names <= len(SHAPE_KINDS)) & (draws[0] < LENT)  # (B, 49)
    for (plane, n), shares, draw in zip(SORTS, added, draws[1:], strict=True):
        labels, fresh = cells[:, PLANES.index(plane)], 1 + (n * draw).long()  # (B, 49) each
        tokens[lent] += shares[fresh[lent] - 1] - shares[labels[lent] - 1]
        labels[lent] = fresh[lent]
    return {"tokens": tokens, "cells": cells.view_as(batch["cells"])}


@torch.inference_mode()
def look(vision: VisionEncoder, places: list[tuple[ShardReader, int]]) -> dict[str, Tensor]:
    """What the eyes make of N pictures, and the truth about them.

    tokens half (N, 49, D), cells (N, planes, 7, 7), offset (N, 49, 2) in cells, background (N,)
    """
    made: dict[str, list[Tensor]] = {}
    weight = next(vision.parameters())
    with tqdm(total=len(places), desc="looking", unit="picture") as bar:
        for start in range(0, len(places), LOOKED):
            records = [reader[i] for reader, i in places[start : start + LOOKED]]
            pixels = torch.stack([picture(r["image"]) for r in records]).to(weight.device)
            scenes = [Scene.from_dict(r["scene"]) for r in records]
            fresh = {
                "tokens": vision(pixels).half().cpu(),  # (B, 49, D)
                "cells": torch.from_numpy(np.stack([r["cells"] for r in records]).astype(np.int64)),
                "offset": torch.stack([centres(scene) for scene in scenes]),
                "background": torch.tensor([list(COLORS).index(s.background.color) for s in scenes]),
            }
            for name, values in fresh.items():
                made.setdefault(name, []).append(values)
            bar.update(len(records))
    return {name: torch.cat(values) for name, values in made.items()}


def centres(scene: Scene) -> Tensor:
    """Where the nearest thing's centre is, seen from each cell's middle, in cells. (49, 2)"""
    at = torch.tensor([[thing.x, thing.y] for thing in scene.things]) / CELL  # (n, 2)
    away = at[None] - middles()[:, None]  # (49, n, 2)
    nearest = away.abs().amax(-1).argmin(1)  # (49,)
    return away[torch.arange(len(away)), nearest]


def prepare(config: dict, paths: Paths) -> None:
    """Nothing: the scenes are there from the vision stage."""


def build(config: dict, paths: Paths) -> FinderObjective:
    """The objective of stage `finder`."""
    return FinderObjective(config, paths)
