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

from data.readers.photos import FILES
from data.scenes.photos import build_photos
from data.shards import ShardReader
from models.errors import UserError
from models.glance import SIDE, Glance, GlanceConfig, shrink
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.distort import distorted, draw, window
from training.media import picture
from training.objective import Loss, Paths, epoch_order, slice_bounds

SMOOTHING = 0.1  # of the labels: what is said should not be surer than it is right
MIXED = 0.5  # of the photographs have a piece of another one of their set pasted in (CutMix)
DRAWN = "drawn"  # the share of scenes
PLAIN = 0.1  # of the scenes' number: pictures of one colour are no photographs either
DEV_DRAWN = 256
CALIBRATION = 300  # pictures of each set
NOWHERE = (slice(0, 0), slice(0, 0))


class GlanceTask(nn.Module):
    """The glance, of one look, with its loss: forward(batch) -> Loss, in nats per picture."""

    def __init__(self, config: GlanceConfig):
        super().__init__()
        self.glance = Glance(config)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        logits, label = self.glance.looks[0](batch["small"]).float(), batch["label"]  # (B, 1 + names)
        own = batch["own"]  # (B,) of the picture that its label speaks of; the rest is `pasted`
        loss = 0
        for labels, share in ((label, own), (batch["pasted"], 1 - own)):
            each = F.cross_entropy(logits, labels, reduction="none", label_smoothing=SMOOTHING)
            loss = loss + (share * each).sum()
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

    def init_from(self, folder: Path) -> None:
        """Go on from a checkpoint's first look; norms begin with what CALIBRATION photographs say."""
        glance = Glance.from_pretrained(folder, "glance")
        if glance.config.names != self.model.glance.config.names:
            raise UserError(f"--init_from {folder}: its glance knows other names than these photographs")
        if glance.config.widths != self.model.glance.config.widths:
            raise UserError(f"--init_from {folder}: its glance is as wide as {glance.config.widths}")
        glance.looks, glance.config.looks = glance.looks[:1], 1
        small = [pictures[:CALIBRATION] for pictures, _ in self.train.values()]
        self.model.glance = glance.unfold(torch.from_numpy(np.concatenate(small)))
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
        small, label, pasted, windows, draws = [], [], [], [], []
        pieces, cut = [], []  # of the photographs that others are pasted into
        for place, (name, i) in zip(places, self.items(step, places), strict=True):
            rng = np.random.default_rng([self.seed, step, place])
            pictures, labels = self.train[name]
            other = int(rng.integers(len(labels)))
            mixed = name != DRAWN and rng.random() < MIXED
            windows.append(window(rng, SIDE) if mixed else NOWHERE)
            small.append(pictures[i])
            label.append(labels[i])
            pasted.append(labels[other])
            draws.append(draw(rng, SIDE))
            if mixed:
                pieces.append(pictures[other])
                cut.append((len(draws) - 1, draw(rng, SIDE)))
        x = distorted(np.stack(small + pieces), draws + [one for _, one in cut])
        own, others = x.split((len(small), len(pieces)))  # (B, 3, 32, 32), (mixed, 3, 32, 32)
        for (at, _), other in zip(cut, others, strict=True):
            rows, columns = windows[at]
            own[at][:, rows, columns] = other[:, rows, columns]
        areas = [(r.stop - r.start) * (c.stop - c.start) / SIDE**2 for r, c in windows]
        return {
            "small": own.contiguous(),
            "label": torch.tensor(label),
            "pasted": torch.tensor(pasted),
            "own": 1 - torch.tensor(areas),
        }

    def validate(self) -> dict[str, float]:
        """Share of unseen pictures named rightly, by set."""
        device = next(self.model.parameters()).device
        figures = {}
        for name, (small, label) in self.dev.items():
            right = 0
            for start in range(0, len(label), 256):
                part = slice(start, start + 256)
                logits = self.model.glance.looks[0](torch.from_numpy(small[part]).to(device))
                right += int((logits.argmax(-1).cpu().numpy() == label[part]).sum())
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
        known: the names, when they are settled already; photographs of others are left out.
    """
    shards = ShardReader(data / f"photos_{split}")
    records = [shards[i] for i in range(len(shards))]
    known = known or sorted({record["name"] for record in records})
    sets: dict[str, list] = {}
    for record in records:
        if record["name"] in known:  # of few photographs to learn from, some names are not among them
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
