"""Drawings on disk: a sprite file holds the transparent images of one style, by the things' names.

A file is an `.npz` of `blob` (WebP files end to end), `offsets` and `names`.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from models.errors import UserError
from models.files import replacing

FOLDER = Path(__file__).parents[2] / "build" / "sprites"
SIDE = 160  # pixels of a sprite's longer side
HINT = "run `python -m data.readers.emoji`, which fetches them with npm"


def save_sprites(
    path: Path, names: list[str], images: list[Image.Image], lossless: bool = True
) -> None:
    """Write a sprite file, whole or not at all."""
    encoded = []
    for image in images:
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", lossless=lossless, quality=80 if lossless else 90)
        encoded.append(buffer.getvalue())
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            blob=np.frombuffer(b"".join(encoded), np.uint8),
            offsets=np.cumsum([0, *map(len, encoded)]),
            names=np.array(names),
        )


class SpriteFile:
    """The sprites of one style, decoded when they are first asked for.

    `names` may hold a name several times: `variants` tells how often, `get` takes which one.
    """

    def __init__(self, path: Path):
        try:
            with np.load(path, allow_pickle=False) as file:
                self.blob, self.offsets, names = (file[k] for k in ("blob", "offsets", "names"))
        except FileNotFoundError:
            raise UserError(f"no drawings at {path}: {HINT}") from None
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"cannot read drawings from {path}: {error}") from None
        self.places: dict[str, list[int]] = {}
        for i, name in enumerate(names):
            self.places.setdefault(str(name), []).append(i)

    def variants(self, name: str) -> int:
        """How many drawings of a thing there are."""
        return len(self.places.get(name, ()))

    def get(self, name: str, which: int = 0) -> Image.Image:
        """A drawing, RGBA."""
        i = self.places[name][which % len(self.places[name])]
        encoded = self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()
        with Image.open(io.BytesIO(encoded)) as image:
            return image.convert("RGBA")


def path_of(style: str) -> Path:
    """Where a style's sprites lie."""
    return FOLDER / f"{style}.npz"


def available(style: str) -> bool:
    """Whether a style's sprites are here."""
    return path_of(style).exists()
