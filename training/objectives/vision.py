"""Objective of the vision stage: what stands in each of the 49 cells, and what photographs show.

A world that we render gives labels for free: object, colour, size, sign and digits of every cell.
Dense labels train the grid branch in minutes where answers alone would take hours. The global token
is trained to tell the name of a photograph (training/photos.py), or that it is none. The heads are
discarded. The projector into the Thinker, which is scored against the Thinker's own words
(training/reading.py), is kept.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.readers.cutouts import build_cutouts
from data.scenes.build import SEEDS, SIGN_SEED, build_pictures
from data.scenes.labels import PLANES, label_vocab
from data.scenes.objects import COLORS
from data.scenes.photos import build_photos
from data.scenes.render import LETTERS, letter_labels
from data.scenes.scene import Scene
from data.scenes.styles import for_training
from data.shards import ShardReader
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from models.vision import VisionConfig, VisionEncoder
from training.media import picture
from training.objective import Loss, Paths, epoch_order, slice_bounds, to_device
from training.photos import PhotoBatches, load
from training.reading import EMPTY, WordReader, places

LETTER_SLOTS = 4  # 16-pixel patches of a token, in each of which one letter is told
LETTER_WEIGHT = 0.5  # of a patch with a letter, beside 1 of a cell with a thing
GROUND_WEIGHT = 4.0  # of a picture's ground
NO_COLOR = -1  # of a ground with several: there is nothing to learn about it
SMOOTHING = 0.1  # of the photographs' names: what is said should not be surer than it is right
PHOTO_WEIGHT = 0.25  # of a photograph, beside 1 of a scene
SCALE = 10.0  # that the whole is divided by: of the order of 1 once it learns
DEV_IMAGES = 256


class VisionTask(nn.Module):
    """The encoder, one linear head a plane of labels and one of names, the projector, and the loss.

    Args:
        words: the Thinker's embeddings (V, hidden).
        names: that photographs have, DRAWING the first; empty without photographs.
    """

    def __init__(self, config: VisionConfig, words: Tensor, tokenizer: Tokenizer, names: list[str]):
        super().__init__()
        self.vision = VisionEncoder(config)
        self.reader = WordReader(config.hidden_size, words, tokenizer, names)
        sizes = {plane: len(found) for plane, found in label_vocab().items()}
        sizes |= {"background": len(COLORS), "name": max(len(names), 1)}
        self.heads = nn.ModuleDict(
            {plane: nn.Linear(config.hidden_size, n) for plane, n in sizes.items()}
        )
        self.heads["letters"] = nn.Linear(config.hidden_size, LETTER_SLOTS * (1 + len(LETTERS)))

    def letter_loss(self, tokens: Tensor, letters: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Summed loss of the letters of signs, and how many are right of how many.

        tokens (B, 49, D), letters (B, 49, 4)
        """
        logits = self.heads["letters"](tokens).float().unflatten(2, (LETTER_SLOTS, -1))
        there = (letters > 0).float()  # (B, 49, 4)
        loss = F.cross_entropy(logits.flatten(0, 2), letters.flatten(), reduction="none")
        weights = LETTER_WEIGHT * (there + EMPTY * (1 - there) * there.amax((1, 2), True))
        right = ((logits.argmax(-1) == letters) * there).sum().detach()
        return (loss * weights.flatten()).sum(), (right, there.sum().clamp_min(1e-6))

    def photo_loss(self, photos: dict[str, Tensor]) -> tuple[Tensor, dict[str, tuple[Tensor, Tensor]]]:
        """Summed loss of names by the head and by the projector, and how many of each are right."""
        tokens = self.vision.global_token(photos["small"])  # (P, D)
        total, logs = 0, {}
        for way, logits in (
            ("name", self.heads["name"](tokens).float()),  # (P, names)
            ("read_name", self.reader.names_read(tokens)),
        ):
            loss = F.cross_entropy(logits, photos["name"], reduction="sum", label_smoothing=SMOOTHING)
            total = total + loss
            right = (logits.argmax(-1) == photos["name"]).sum().detach()
            logs[way] = (right, torch.tensor(len(tokens)))
        return total, logs

    def forward(self, batch: dict) -> Loss:
        tokens = self.vision.grid_tokens(batch["pixels"])  # (B, 49, D)
        cells = batch["cells"].flatten(2)  # (B, planes, 49)
        thing = cells[:, PLANES.index("object")] > 0  # (B, 49)
        sign = cells[:, PLANES.index("sign")] > 0
        total, letters_right = self.letter_loss(tokens, batch["letters"])
        logs = {"letters": letters_right}
        for i, plane in enumerate(PLANES):
            logits = self.heads[plane](tokens).float()  # (B, 49, n)
            loss = F.cross_entropy(logits.flatten(0, 1), cells[:, i].flatten(), reduction="none")
            about_sign = plane == "sign" or plane.startswith("digit")
            where = (sign if about_sign else thing).flatten().float()
            weights = where + EMPTY * (1 - thing.flatten().float()) * (plane == "object")
            total = total + (loss * weights).sum()
            right = (logits.argmax(-1) == cells[:, i]).flatten() * where
            logs[plane] = (right.sum().detach(), where.sum().clamp_min(1e-6))
        logits = self.heads["background"](tokens.mean(1)).float()  # (B, colours)
        ground = batch["background"]
        loss = F.cross_entropy(logits, ground, reduction="sum", ignore_index=NO_COLOR)
        total = total + GROUND_WEIGHT * loss
        right, known = (logits.argmax(-1) == ground).sum().detach(), (ground != NO_COLOR).float().sum()
        logs["background"] = (right, known.clamp_min(1e-6))
        read, told = self.reader(tokens, cells, batch["background"], batch["where"])
        total, logs = total + read, logs | told
        if "photos" in batch:
            named, told = self.photo_loss(batch["photos"])
            total, logs = total + PHOTO_WEIGHT * named, logs | told
        return Loss(total / SCALE, len(tokens), logs)


class VisionObjective:
    """Batches of pictures with their cells, dev accuracy by plane, and saving."""

    def __init__(self, config: dict, paths: Paths):
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        tokenizer = Tokenizer(paths.need("thinker") / "tokenizer.model")
        words = thinker.model.embed_tokens.weight.detach().float()  # (V, hidden)
        self.size, self.seed, data = config["train"]["batch_size"], config["seed"], config["data"]
        self.photos = None
        if (paths.data / "photos_train").is_dir():
            self.photos = PhotoBatches(
                paths.data, data["photo_shares"], data["small_scenes"], data["photos"], self.seed
            )
            self.photo_dev, _ = load(paths.data, "dev", DEV_IMAGES, self.photos.names)
        names = self.photos.names if self.photos else []
        self.model = VisionTask(VisionConfig(**config["model"]), words, tokenizer, names)
        scenes = ShardReader(paths.data / "scenes_train")
        self.train = [(scenes, i) for i in range(min(len(scenes), config["data"]["scenes"]))]
        if config["data"]["signs"]:
            signs = ShardReader(paths.data / "signs_train")
            self.train += [(signs, i) for i in range(len(signs))]
        self.dev = ShardReader(paths.data / "scenes_dev")

    @staticmethod
    def items(records: list[dict]) -> dict[str, Tensor]:
        """Pixels (B, 3, 224, 224), cells (B, planes, 7, 7), letters (B, 49, 4), background (B,),
        a colour or NO_COLOR, and where (B, 49, 3)."""
        scenes = [Scene.from_dict(r["scene"]) for r in records]
        letters = np.stack([letter_labels(scene) for scene in scenes])
        where = [places(scene, r["cells"]) for scene, r in zip(scenes, records, strict=True)]
        letters = torch.from_numpy(letters).unflatten(2, (-1, 2)).unflatten(1, (-1, 2))  # (B, 7, 2, 7, 2)
        named = ["", *COLORS]
        colors = [named.index(r["scene"]["background"]["color"]) + NO_COLOR for r in records]
        return {
            "pixels": torch.stack([picture(r["image"]) for r in records]),
            "cells": torch.from_numpy(np.stack([r["cells"] for r in records]).astype(np.int64)),
            "letters": letters.transpose(2, 3).flatten(3).flatten(1, 2),  # (B, 49, 4)
            "background": torch.tensor(colors),
            "where": torch.from_numpy(np.stack(where)),
        }

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        # Every epoch in its own order, so that all pictures are seen equally often.
        records, count = [], len(self.train)
        for i in slice_bounds(self.size, rank, world):
            epoch, place = divmod(step * self.size + i, count)
            reader, index = self.train[epoch_order(self.seed, epoch, count)[place]]
            records.append(reader[index])
        batch = self.items(records)
        if self.photos is not None:
            batch["photos"] = self.photos.batch(step, slice_bounds(self.photos.size, rank, world))
        return batch

    def validate(self) -> dict[str, float]:
        """Share of cells right, by plane, on held-out scenes."""
        device = next(self.model.parameters()).device
        sums: dict[str, list[float]] = {}
        for start in range(0, min(DEV_IMAGES, len(self.dev)), 32):
            indices = range(start, min(start + 32, len(self.dev)))
            batch = self.items([self.dev[i] for i in indices])
            for name, (right, count) in self.model(to_device(batch, device)).logs.items():
                pair = sums.setdefault(name, [0.0, 0.0])
                pair[0] += float(right)
                pair[1] += float(count)
        return {name: right / count for name, (right, count) in sums.items()} | self.names_right(device)

    def names_right(self, device: torch.device) -> dict[str, float]:
        """Share of unseen small photographs whose name the head tells, by set."""
        figures = {}
        for source, (small, name) in (self.photo_dev.items() if self.photos else ()):
            right = 0
            for start in range(0, len(name), 256):
                part = slice(start, start + 256)
                tokens = self.model.vision.global_token(torch.from_numpy(small[part]).to(device))
                right += int((self.model.heads["name"](tokens).argmax(-1).cpu().numpy() == name[part]).sum())
            figures[f"name_{source}"] = right / len(name)
        return figures

    def save(self, folder: Path) -> None:
        self.model.vision.save_pretrained(folder)
        self.model.reader.projector.save_pretrained(folder / "projector")


def prepare(config: dict, paths: Paths) -> None:
    """Draw the scenes; read the photographs where there are any."""
    data = config["data"]
    styles = for_training(data)
    drawn = {"objects": data["objects"], "workers": config["workers"], "styles": styles}
    if paths.real and "photo" in styles:
        build_cutouts(paths.real, "train")
    for split in ("train", "dev") if paths.real and data["photos"] else ():
        build_photos(paths.data / f"photos_{split}", paths.real, split, data["photos_of_set"])
    if data["signs"]:
        folder = paths.data / "signs_train"
        build_pictures(folder, data["signs"], SIGN_SEED, "train", layout="sign", **drawn)
    for split in ("train", "dev"):  # evaluate.py makes its own test scenes
        count = data["scenes"] if split == "train" else data["held_out"]
        build_pictures(paths.data / f"scenes_{split}", count, SEEDS[split], split, **drawn)


build = VisionObjective
