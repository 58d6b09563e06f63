"""Build the picture world into shards: `python -m data.scenes.build --out FOLDER --count N`.

Record of a scene: {"scene", "captions": [2], "questions": [up to 8], "follow_ups": [[2], …]} and
blobs "image" (JPEG) and "cells" (int16 (8, 7, 7), planes as in `data.scenes.labels.label_vocab`).
Record of a clip: {"clip", "questions"} and blobs "image0" … "image3".
Of several pictures: {"scenes", "difference", "tracks", "questions"} and blobs "image0" …
All are pure functions of (seed, split, index) and the styles: the same on any number of workers.
"""

from __future__ import annotations

import io
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from PIL import Image

from data.readers.emoji import SOURCES
from data.scenes.captions import caption
from data.scenes.clips import clip_questions, render_clip, sample_clip
from data.scenes.follow_ups import follow_ups
from data.scenes.objects import WORLDS
from data.scenes.questions import questions
from data.scenes.render import render, render_with_cells
from data.scenes.sampling import DRAWN_BY_CODE, sample_scene
from data.scenes.scene import Scene
from data.scenes.several import sample_several, several_questions
from data.scenes.sprites import require_styles
from data.scenes.styles import CUT_OUT, cut_outs, dress, dress_truly
from data.shards import Blobs, generate
from models.errors import Parser, one_line_errors

QUALITY = 92  # of JPEG; with full colour resolution, since small coloured things matter here
SHARD_SIZE = 1000
SIGN_SEED = 4  # of the extra pictures with signs, which are all for training
BY_CODE = 0.06  # of the scenes in several styles are as programs draw them
SPOKEN = 2000  # scenes of each folder that spoken questions are about (data/speech/asr_corpus.py)
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
    styles: tuple[str, ...] = ()  # of drawing; none: Noto's drawings, nothing done to them

    def describe(self, index: int) -> tuple[Scene, dict]:
        """A scene and its record, without drawing it."""
        rng = record_rng("scene", self.seed, self.split, index)
        if self.styles:
            scene = self.drawn(rng, index)
        else:
            scene = sample_scene(rng, self.split, self.objects, self.layout)
        return scene, {
            "scene": scene.to_dict(),
            "captions": [caption(scene, rng, self.split) for _ in range(2)],
            "questions": questions(scene, rng, self.split, self.objects),
            "follow_ups": follow_ups(scene, rng, self.objects),
        }

    def drawn(self, rng: random.Random, index: int) -> Scene:
        """A scene in one of the styles; of those that spoken questions are about, all stays true."""
        drawing = record_rng("style", self.seed, self.split, index)
        spoken = self.layout is None and index < SPOKEN
        by_code = self.layout is None and not spoken and drawing.random() < BY_CODE
        layout = DRAWN_BY_CODE if by_code else self.layout
        scene = sample_scene(rng, self.split, self.objects, layout)
        if self.split == "train" and not spoken and "photo" in self.styles and drawing.random() < CUT_OUT:
            return cut_outs(scene, drawing)
        return (dress_truly if spoken else dress)(scene, drawing, self.styles)

    def __call__(self, index: int) -> tuple[dict, Blobs]:
        scene, record = self.describe(index)
        image, cells = render_with_cells(scene)
        return record, {"image": jpeg(image), "cells": cells}


@dataclass(frozen=True)
class Maker:
    """What is drawn, and by which seed."""

    seed: int
    split: str
    objects: str = "all"
    styles: tuple[str, ...] = ()


class MakeClip(Maker):
    def __call__(self, index: int) -> tuple[dict, Blobs]:
        rng = record_rng("clip", self.seed, self.split, index)
        clip = sample_clip(rng, self.split, self.objects, styles=self.styles)
        blobs: Blobs = {f"image{i}": jpeg(im) for i, im in enumerate(render_clip(clip))}
        return {"clip": clip.to_dict(), "questions": clip_questions(clip, rng, self.split)}, blobs


class MakeSeveral(Maker):
    def __call__(self, index: int) -> tuple[dict, Blobs]:
        rng = record_rng("several", self.seed, self.split, index)
        while True:
            pictures = sample_several(rng, self.split, self.objects, self.styles)
            asked = several_questions(pictures, rng, self.split, self.objects)
            if asked:
                break
        blobs: Blobs = {f"image{i}": jpeg(render(s)) for i, s in enumerate(pictures.scenes)}
        return asdict(pictures) | {"questions": asked}, blobs


MAKE = {"scenes": MakeScene, "clips": MakeClip, "several": MakeSeveral}


def build_pictures(
    folder: str | Path, count: int, seed: int, split: str, what: str = "scenes", *,
    objects: str = "all", workers: int | None = None, styles: tuple[str, ...] = (), **sampled: str,
) -> None:
    """Fill a folder with scenes, clips of four frames, or sets of two or three pictures.

    Each has its questions. `sampled` may hold the layout of scenes.
    """
    if objects == "all":
        require_styles(styles)
    make = MAKE[what](seed, split, objects=objects, styles=styles, **sampled)
    generate(folder, make, count, SHARD_SIZE, workers, f"{what} {split}")


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(description="Build pictures or clips with their questions.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the shards")
    parser.add_argument("--count", type=int, required=True, help="pictures, clips or sets")
    parser.add_argument("--what", choices=tuple(MAKE), default="scenes", help="several: sets of pictures")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="train")
    parser.add_argument("--seed", type=int, default=1, help="other ones")
    parser.add_argument("--objects", choices=WORLDS, default="all", help="few: one large shape")
    parser.add_argument("--styles", nargs="*", choices=("noto", "photo", *SOURCES), default=[],
                        help="whose drawings (default: Noto's as they are)")
    parser.add_argument("--workers", type=int, help="processes (default: one per core)")
    args = parser.parse_args(argv)
    build_pictures(args.out, args.count, args.seed, args.split, args.what, objects=args.objects,
                   workers=args.workers, styles=tuple(args.styles))
    return 0


if __name__ == "__main__":
    sys.exit(main())
