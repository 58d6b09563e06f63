"""Objective of the glance stage: say what a photograph shows, or that it is none.

Photographs of several sets, in fixed shares of each batch, and drawn scenes, which must leave the
glance with nothing to say. Norms follow the batch here and are folded into the convolutions when it
is saved. What it tells the Thinker begins as the Thinker's words for each name and is learnt last
(training/objectives/naming.py).
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.photos import build_photos
from data.readers.photos import FILES
from data.shards import ShardReader
from models.errors import UserError
from models.glance import SIDE, Glance, GlanceConfig, shrink
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.media import picture
from training.objective import Loss, Paths, epoch_order, slice_bounds, to_device

SHIFT = 4  # pixels: a photograph is moved by up to so many either way
HOLE = 8  # pixels a side: half of the photographs lose such a square (cutout, arXiv:1708.04552)
SMOOTHING = 0.1  # of the labels: mixtures of words should not be surer than they are right
DRAWN = "drawn"  # the share of scenes
PLAIN = 0.1  # of the scenes' number: pictures of one colour are no photographs either
DEV_DRAWN = 256


class GlanceTask(nn.Module):
    """The glance with its loss: forward(batch) -> Loss, in nats per picture."""

    def __init__(self, config: GlanceConfig):
        super().__init__()
        self.glance = Glance(config)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        logits, label = self.glance.logits(batch["small"]).float(), batch["label"]  # (B, 1 + names)
        loss = F.cross_entropy(logits, label, reduction="sum", label_smoothing=SMOOTHING)
        right = (logits.argmax(-1) == label).sum().detach()
        return Loss(loss, len(label), {"right": right})


class GlanceObjective:
    """Batches of small pictures with their names, dev accuracy by set, and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        scenes = config["data"]["drawn"]
        self.train, known = load(paths.data, "train", scenes, [])
        self.dev, _ = load(paths.data, "dev", DEV_DRAWN, known)
        shares = config["data"]["shares"]
        if unknown := set(self.train) - set(shares):
            raise ValueError(f"glance.data.shares does not say how often {sorted(unknown)} come")
        self.shares = {name: share for name, share in shares.items() if name in self.train}
        self.pattern = [(name, i) for name, share in self.shares.items() for i in range(share)]
        self.model = GlanceTask(GlanceConfig(**config["model"], names=known, folded=False))
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        tokenizer = Tokenizer(paths.need("thinker") / "tokenizer.model")
        table = thinker.model.embed_tokens.weight.detach().float()  # (V, hidden)
        for row, name in zip(self.model.glance.words.data, known, strict=True):
            row.copy_(table[tokenizer.encode(f" photo {name}")].sum(0))
        self.model.glance.words.requires_grad_(False)

    def items(self, step: int, places: range) -> list[tuple[str, int]]:
        """(set, index) of those places of a global batch; each set is gone through epoch by epoch."""
        chosen = []
        for place in places:
            turn, at = divmod(place + step * self.size, len(self.pattern))
            name, rank = self.pattern[at]
            count = len(self.train[name][1])
            epoch, at = divmod(turn * self.shares[name] + rank, count)
            chosen.append((name, int(epoch_order(self.seed, epoch, count)[at])))
        return chosen

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        places = slice_bounds(self.size, rank, world)
        small, label = [], []
        for place, (name, i) in zip(places, self.items(step, places), strict=True):
            rng = np.random.default_rng([self.seed, step, place])
            small.append(disturb(self.train[name][0][i], rng))
            label.append(self.train[name][1][i])
        return {"small": torch.from_numpy(np.stack(small)), "label": torch.tensor(label)}

    def validate(self) -> dict[str, float]:
        """Share of unseen pictures named rightly, by set."""
        device = next(self.model.parameters()).device
        figures = {}
        for name, (small, label) in self.dev.items():
            right = 0
            for start in range(0, len(label), 256):
                part = slice(start, start + 256)
                batch = {"small": torch.from_numpy(small[part]), "label": torch.from_numpy(label[part])}
                right += int(self.model(to_device(batch, device)).logs["right"])
            figures[name] = right / len(label)
        return figures

    def save(self, folder: Path) -> None:
        """Write the glance with its norms folded in."""
        self.model.glance.fold().save_pretrained(folder)


Pictures = tuple[np.ndarray, np.ndarray]  # uint8 (n, 3, 32, 32), labels (n,)


def load(data: Path, split: str, drawn: int, known: list[str]) -> tuple[dict[str, Pictures], list]:
    """Small pictures by set with their labels, and the names that labels 1, 2, … stand for.

    Args:
        drawn: at most so many scenes, whose label is 0.
        known: the names, when they are settled already.
    """
    shards = ShardReader(data / f"photos_{split}")
    records = [shards[i] for i in range(len(shards))]
    known = known or sorted({record["name"] for record in records})
    sets: dict[str, list] = {}
    for record in records:
        label = 1 + known.index(record["name"])
        sets.setdefault(record["corpus"], []).append((record["small"], label))
    scenes = ShardReader(data / f"scenes_{split}")
    for i in range(min(drawn, len(scenes))):
        small = shrink(picture(scenes[i]["image"])[None])[0].round().byte().numpy()
        sets.setdefault(DRAWN, []).append((small, 0))
    rng = np.random.default_rng(len(records))
    for color in rng.integers(0, 256, (round(PLAIN * drawn), 3, 1, 1), dtype=np.uint8):
        sets[DRAWN].append((np.broadcast_to(color, (3, SIDE, SIDE)), 0))
    stacked = {
        name: (np.stack([small for small, _ in found]), np.array([label for _, label in found]))
        for name, found in sets.items()
    }
    return stacked, known


def disturb(small: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mirrored or not, shifted, perhaps with a hole. uint8 (3, 32, 32) -> the same"""
    if rng.random() < 0.5:
        small = small[:, :, ::-1]
    y, x = rng.integers(0, 2 * SHIFT + 1, 2)
    padded = np.pad(small, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)), mode="reflect")
    small = padded[:, y : y + SIDE, x : x + SIDE].copy()
    if rng.random() < 0.5:
        y, x = rng.integers(0, SIDE - HOLE + 1, 2)
        small[:, y : y + HOLE, x : x + HOLE] = 128
    return small


def prepare(config: dict, paths: Paths) -> None:
    """Read the photographs into shards; the scenes are there from the vision stage."""
    for split in ("train", "dev"):
        folder = paths.data / f"photos_{split}"
        build_photos(folder, paths.real, split, config["data"]["photos"])
        if not folder.is_dir():
            raise UserError(f"no photographs ({', '.join(FILES.values())}): give --real_dir")


def build(config: dict, paths: Paths) -> GlanceObjective:
    """The objective of stage `glance`."""
    return GlanceObjective(config, paths)
