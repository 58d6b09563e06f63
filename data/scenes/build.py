"""Build the picture world into shards: `python -m data.scenes.build --out FOLDER --count N`.

Record of a scene: {"scene", "captions": [2], "questions": [up to 8], "follow_ups": [[2], …]} and
blobs "image" (JPEG) and "cells" (int16 (8, 7, 7), planes as in `data.scenes.render.label_vocab`).
Record of a clip: {"clip", "questions"} and blobs "image0" … "image3" (JPEG).
Both are pure functions of (seed, split, index): the same on any number of workers.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from data.scenes.captions import caption
from data.scenes.clips import clip_questions, render_clip, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.questions import questions
from data.scenes.render import render_with_cells, require_emoji
from data.scenes.scene import Scene, sample_scene
from data.shards import Blobs, generate
from models.errors import one_line_errors

QUALITY = 92  # of JPEG; with full colour resolution, since small coloured things matter here
SHARD_SIZE = 1000
SIGN_SEED = 4  # of the extra pictures with signs, which are all for training
SEEDS = {"train": 1, "dev": 2, "test": 3}  # of the scene folders that training and evaluation use


def jpeg(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return buffer.getvalue()


def record_rng(what: str, seed: int, split: str, index: int) -> random.Random:
    """Seeded by text, which Python hashes the same everywhere; splits never share a stream."""
    return random.Random(f"{what}-{seed}-{split}-{index}")


@dataclass(frozen=True)
class MakeScene:
    seed: int
    split: str
    objects: str = "all"
    layout: str | None = None  # None: the world's mixture of layouts

    def describe(self, index: int) -> tuple[Scene, dict]:
        """A scene and its record, without drawing it."""
        rng = record_rng("scene", self.seed, self.split, index)
        scene = sample_scene(rng, self.split, self.objects, self.layout)
        return scene, {
            "scene": scene.to_dict(),
            "captions": [caption(scene, rng, self.split) for _ in range(2)],
            "questions": questions(scene, rng, self.split, self.objects),
            "follow_ups": follow_ups(scene, rng, self.objects),
        }

    def __call__(self, index: int) -> tuple[dict, Blobs]:
        scene, record = self.describe(index)
        image, cells = render_with_cells(scene)
        return record, {"image": jpeg(image), "cells": cells}


@dataclass(frozen=True)
class MakeClip:
    seed: int
    split: str
    objects: str = "all"

    def __call__(self, index: int) -> tuple[dict, Blobs]:
        rng = record_rng("clip", self.seed, self.split, index)
        clip = sample_clip(rng, self.split, self.objects)
        blobs: Blobs = {f"image{i}": jpeg(im) for i, im in enumerate(render_clip(clip))}
        return {"clip": clip.to_dict(), "questions": clip_questions(clip, rng, self.split)}, blobs


def build_scenes(
    folder: str | Path,
    count: int,
    seed: int,
    split: str,
    objects: str = "all",
    workers: int | None = None,
    layout: str | None = None,
) -> None:
    if objects == "all":
        require_emoji()
    make = MakeScene(seed, split, objects, layout)
    generate(folder, make, count, SHARD_SIZE, workers, f"scenes {split}")


def build_clips(
    folder: str | Path,
    count: int,
    seed: int,
    split: str,
    objects: str = "all",
    workers: int | None = None,
) -> None:
    if objects == "all":
        require_emoji()
    generate(folder, MakeClip(seed, split, objects), count, SHARD_SIZE, workers, f"clips {split}")


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build pictures or clips with their questions.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the shards")
    parser.add_argument("--count", type=int, required=True, help="pictures or clips")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="train")
    parser.add_argument("--seed", type=int, default=1, help="other ones")
    parser.add_argument("--objects", choices=("all", "shapes"), default="all")
    parser.add_argument("--clips", action="store_true", help="clips of four frames, not pictures")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    args = parser.parse_args(argv)
    build = build_clips if args.clips else build_scenes
    build(args.out, args.count, args.seed, args.split, args.objects, args.workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
