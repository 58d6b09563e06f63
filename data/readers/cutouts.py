"""Things cut out of photographs, and photographs as grounds: sprite files like those of artists.

A thing is cut out where it stands whole before an even ground: what can be reached from the rim over
pixels of the rim's colour is ground, and the rest must hang together. Of the other photographs some are
kept whole, as prints.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from data.readers.drawings import SIDE, path_of, save_sprites
from data.readers.photos import Photo, photos, present
from data.scenes.styles import PHOTOGRAPHED
from models.errors import needed

GROUND = "ground"  # the name of photographs that serve as grounds
GROUNDS = 400
MOST = {"train": 200, "dev": 12, "test": 25}  # cut-outs of a thing
PRINTS = 0.15  # of the training photographs are taken whole; few of the others can be cut out
EVEN = 26.0  # levels: standard deviation of the rim of a photograph on an even ground
LIKE = 34.0  # levels: largest distance of a ground pixel from the rim's mean colour
COVER = (0.12, 0.6)  # shares of the photograph that a cut-out thing may take
WHOLE = 0.9  # least share of what is not ground that hangs together: the thing; the rest is specks
CROPPED = 0.12  # largest share of the rim that the thing may take: more of it lies outside
ANY_SIDE = np.ones((3, 3))  # pixels that touch at a corner hang together


def _rim(plane: np.ndarray) -> np.ndarray:
    """Its outermost pixels. (H, W, ...) -> (n, ...)"""
    return np.concatenate([plane[0], plane[-1], plane[:, 0], plane[:, -1]])


def label(*given) -> tuple[np.ndarray, int]:
    """The parts of a mask that hang together, numbered, and how many: scipy.ndimage's `label`."""
    return needed("scipy.ndimage", "cutting things out", "-r requirements-dev.txt").label(*given)


def ground_mask(pixels: np.ndarray) -> np.ndarray | None:
    """Where the ground of a photograph is; None where it is not even. (H, W, 3) -> bool (H, W)"""
    rim = _rim(pixels).astype(np.float32)
    middle = np.median(rim, 0)
    apart = np.abs(rim - middle).max(1)
    if np.mean(apart < LIKE) < 0.85 or rim[apart < LIKE].std(0).max() > EVEN:
        return None
    parts, _ = label(np.abs(pixels - middle).max(2) < LIKE)  # (H, W); 0 is the thing
    return np.isin(parts, np.setdiff1d(_rim(parts), [0]))


def thing_mask(pixels: np.ndarray) -> np.ndarray | None:
    """Where the one thing of a photograph is; None where it cannot be told. (H, W, 3) -> bool (H, W)"""
    ground = ground_mask(pixels)
    if ground is None or _rim(~ground).mean() > CROPPED:
        return None
    parts, count = label(~ground, ANY_SIDE)
    sizes = np.bincount(parts.ravel(), minlength=2)[1:]
    if not count or sizes.max() < WHOLE * sizes.sum():
        return None
    thing = parts == 1 + sizes.argmax()
    return thing if COVER[0] < thing.mean() < COVER[1] else None


def cut_out(image: Image.Image) -> Image.Image | None:
    """The thing of a photograph without its ground, RGBA; None where it cannot be told from it."""
    thing = thing_mask(np.asarray(image.convert("RGB"), np.float32))
    if thing is None:
        return None
    mask = Image.fromarray(np.where(thing, 255, 0).astype(np.uint8))
    large = SIDE / max(image.size)
    size = (round(image.width * large), round(image.height * large))
    soft = mask.resize(size, Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(1.5))
    out = image.convert("RGB").resize(size, Image.Resampling.BICUBIC).convert("RGBA")
    out.putalpha(soft.point(lambda a: max(0, min(255, (a - 110) * 4))))
    box = out.getchannel("A").getbbox()
    return None if box is None else out.crop(box)


def printed(image: Image.Image) -> Image.Image:
    """The whole photograph with a white rim."""
    rim = SIDE // 16
    out = Image.new("RGBA", (SIDE, SIDE), "white")
    out.paste(image.convert("RGB").resize((SIDE - 2 * rim,) * 2, Image.Resampling.BICUBIC), (rim, rim))
    return out


def _things(real: Path, split: str) -> Iterator[Photo]:
    for corpus in present(real):
        yield from photos(real, corpus, split)


def cutouts(real: Path, split: str) -> Iterator[tuple[str, Image.Image]]:
    """Name and sprite of what a split's photographs show; a few of the others are grounds."""
    count: Counter = Counter()
    rng = random.Random(f"cutouts-{split}")
    for photo in _things(real, split):
        name = PHOTOGRAPHED.get(photo.name, "")
        wanted = name and count[name] < MOST[split]
        ground = count[GROUND] < GROUNDS and rng.random() < 0.1
        if not wanted and not ground:
            continue
        with Image.open(io.BytesIO(photo.encoded)) as image:
            image.load()
        made = None
        if wanted:
            made = printed(image) if split == "train" and rng.random() < PRINTS else cut_out(image)
        if made is None and ground:
            name, made = GROUND, image.convert("RGBA")
        if made is not None:
            count[name] += 1
            yield name, made


def build_cutouts(real: Path, split: str) -> None:
    """Write the sprite file of a split's photographs, unless it is there."""
    path = path_of(f"photo_{split}")
    made = [] if path.exists() else list(cutouts(real, split))
    if made:
        names, images = zip(*made, strict=True)
        save_sprites(path, list(names), list(images), lossless=False)
