"""Drawings of the picture world's things by several artists, out of npm packages, as sprite files.

`python -m data.readers.emoji` fetches the packages with npm (31 MB), rasterises each needed thing once to
`SIDE` pixels, and writes one file a style into build/sprites (data/readers/drawings.py). It needs npm and
`resvg_py` (requirements-dev.txt); reading the files needs neither.

Licences: Fluent MIT, OpenMoji CC BY-SA 4.0, FxEmoji Apache-2.0, EmojiOne 1 CC BY-SA 4.0. Blobmoji is
not among them: the npm package that is called after it holds no drawings.
"""

from __future__ import annotations

import colorsys
import io
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from data.readers.drawings import SIDE, SpriteFile, path_of, save_sprites
from data.readers.npm import packed_files
from data.scenes.objects import EMOJI_KINDS, Kind
from models.errors import Parser, needed, one_line_errors

PLAIN = 0.3  # share of a drawing that must have a colour to be called by it
HUES = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "red")
BOUNDS = (14, 40, 68, 170, 255, 295, 345)  # degrees, between one hue and the next
Files = dict[str, bytes]  # of a package, by name
Drawing = Callable[[Files, Kind], bytes | None]  # SVG or WebP; None where the artist drew no such thing


@dataclass(frozen=True)
class Source:
    """Where a style is from: an npm package with its version, and how a thing is found in it."""

    package: str
    drawing: Drawing


def codepoints(kind: Kind) -> str:
    """"1f415", as files are named."""
    return "-".join(f"{ord(c):x}" for c in kind.emoji if ord(c) != 0xFE0F)


def squashed(name: str) -> str:
    """Small letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _icons(content: bytes) -> dict:
    return json.loads(content)


def _svg(icons: dict, name: str) -> bytes:
    """One icon of an Iconify set as an SVG document."""
    icon = icons["icons"][name]
    width = icon.get("width", icons.get("width", 16))
    height = icon.get("height", icons.get("height", 16))
    size = f'viewBox="{icon.get("left", 0)} {icon.get("top", 0)} {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{icon["body"]}</svg>'.encode()


def _by_codepoint(files: Files, kind: Kind) -> bytes | None:
    """From an Iconify set that lists its characters."""
    named = {
        "-".join(part for part in key.split("-") if part != "fe0f"): name
        for key, name in _icons(files["chars.json"]).items()
    }
    name = named.get(codepoints(kind))
    return None if name is None else _svg(_icons(files["icons.json"]), name)


# What Unicode calls a thing is what most sets call it; here are those that a set calls otherwise.
OTHERWISE = {
    "bear": "bear-face", "frog": "frog-face", "mouse": "mouse-face", "whale": "spouting-whale",
    "sheep": "ewe", "couch": "couch-and-lamp", "lock": "locked", "gift": "wrapped-gift",
    "gem": "gem-stone", "shirt": "t-shirt", "shoe": "running-shoe", "boot": "womans-boot",
    "high heel": "high-heeled-shoe", "pine tree": "evergreen-tree",
    "lightning bolt": "high-voltage", "globe": "globe-showing-europe-africa", "tower": "tokyo-tower",
    "smiley face": "grinning-face", "hand": "raised-hand", "pepper": "hot-pepper", "leaf": "maple-leaf",
    "corn cob": "ear-of-corn", "box of fries": "french-fries", "magnifying glass": "magnifying-glass",
    "bowling ball": "bowling", "fishing rod": "fishing-pole", "flower": "cherry-blossom",
    "paper clip": "paperclip", "sun": "sun-with-face", "medal": "sports-medal",
    "cake": "birthday-cake", "donut": "doughnut", "car": "automobile",
}
FIREFOX = {
    "rabbit": "bunny", "pepper": "chilipepper", "high heel": "heels", "pine tree": "evergreen",
    "globe": "europeafricaglobe", "mobile phone": "cellphone", "magnifying glass": "leftmagnifyingglass",
    "chick": "frontfacingchick", "pig": "pig", "dragon": "dragonside", "pen": "lowerleftpen",
    "sun": "sunwithface", "dog": "dogside", "cat": "catside",
}
UNLIKE = {"tennis racket", "laptop"}  # drawn by these two sets as something else


def _by_name(otherwise: dict[str, str]) -> Drawing:
    """From an Iconify set that lists no characters: by Unicode's name, or our own."""

    def drawing(files: Files, kind: Kind) -> bytes | None:
        if kind.name in UNLIKE:
            return None
        icons = _icons(files["icons.json"])
        named = {squashed(name): name for name in icons["icons"]}
        unicode = unicodedata.name(kind.emoji[0], "")
        wanted = (
            otherwise.get(kind.name, ""), unicode, kind.name, OTHERWISE.get(kind.name, ""),
            unicode.replace("BLACK ", ""), unicode.removesuffix(" FACE"),
            kind.name.removeprefix("pair of "), kind.name.removeprefix("bunch of "),
        )
        found = [named[squashed(name)] for name in wanted if squashed(name) in named]
        return _svg(icons, found[0]) if found else None

    return drawing


def _file(pattern: str) -> Drawing:
    """From a package with one file a character; `{c}` and `{C}` are its code points."""

    def drawing(files: Files, kind: Kind) -> bytes | None:
        points = codepoints(kind)
        for code in (points, points + "-fe0f"):
            name = pattern.format(c=code, C=code.upper())
            if name in files:
                return files[name]
        return None

    return drawing


SOURCES = {
    "fluent_flat": Source("@iconify-json/fluent-emoji-flat@1.2.6", _by_codepoint),
    "fluent_3d": Source("@lobehub/fluent-emoji-3d@1.1.0", _file("assets/{c}.webp")),
    "openmoji": Source("openmoji@17.0.0", _file("color/svg/{C}.svg")),
    "openmoji_line": Source("openmoji@17.0.0", _file("black/svg/{C}.svg")),
    "fxemoji": Source("@iconify-json/fxemoji@1.2.2", _by_name(FIREFOX)),
    "emojione": Source("@iconify-json/emojione-v1@1.2.3", _by_name({})),
}


def rasterised(drawing: bytes) -> Image.Image:
    """An SVG or a picture file -> RGBA cut to its ink, `SIDE` on its longer side."""
    if b"<svg" in drawing[:400]:
        drawing = bytes(_resvg(drawing.decode()))
    with Image.open(io.BytesIO(drawing)) as image:
        image = image.convert("RGBA")
    ink = image.crop(image.getchannel("A").point(lambda a: 255 * (a > 8)).getbbox())
    scale = SIDE / max(ink.size)
    size = (max(1, round(ink.width * scale)), max(1, round(ink.height * scale)))
    # Resampled with colours weighted by their alpha, or transparent pixels would darken the edges.
    return ink.convert("RGBa").resize(size, Image.Resampling.LANCZOS).convert("RGBA")


def _resvg(svg: str) -> bytes:
    resvg = needed("resvg_py", "rasterising SVG", "-r requirements-dev.txt")
    return resvg.svg_to_bytes(svg_string=svg, width=2 * SIDE, height=2 * SIDE)


def drawings(style: str) -> Iterator[tuple[str, Image.Image]]:
    """Name and sprite of every thing that a style's artist drew."""
    source = SOURCES[style]
    files = packed_files(source.package)
    for kind in EMOJI_KINDS:
        drawing = source.drawing(files, kind)
        if drawing is not None:
            yield kind.name, rasterised(drawing)


def color_share(image: Image.Image, color: str) -> float:
    """The share of a drawing's ink that people would call by a colour's name."""
    pixels = np.asarray(image.resize((40, 40)))
    ink = pixels[pixels[..., 3] > 128][:, :3]  # (n, 3)
    return sum(color_name(*rgb) == color for rgb in ink.tolist()) / max(1, len(ink))


def color_name(red: int, green: int, blue: int) -> str:
    """One of the basic colours, by hue, saturation and value."""
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if value < 0.22:
        return "black"
    if saturation < 0.12 or (saturation < 0.22 and value < 0.75):
        return "white" if value > 0.85 else "gray"
    name = HUES[sum(hue * 360 >= bound for bound in BOUNDS)]
    if name == "red":
        return "brown" if value < 0.5 else "red" if saturation > 0.45 else "pink"
    if name == "orange":
        return "orange" if value > 0.8 and saturation > 0.5 else "brown"
    return "purple" if name == "pink" and value < 0.6 else name


def facts_of(style: str) -> dict[str, list[str]]:
    """What data/scenes/styles.json says of a style: things not drawn, things in another colour."""
    sprites = SpriteFile(path_of(style))
    drawn = [kind for kind in EMOJI_KINDS if kind.name in sprites.places]
    return {
        "missing": [kind.name for kind in EMOJI_KINDS if kind.name not in sprites.places],
        "recoloured": [
            kind.name
            for kind in drawn
            if kind.color and color_share(sprites.get(kind.name), kind.color) < PLAIN
        ],
    }


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(description="Fetch drawings of everyday things in several styles.")
    parser.add_argument(
        "--styles", nargs="+", choices=tuple(SOURCES), default=list(SOURCES), help="styles to fetch"
    )
    parser.add_argument("--facts", type=Path, help="also write what data/scenes/styles.json holds")
    args = parser.parse_args(argv)
    for style in args.styles:
        names, images = zip(*drawings(style), strict=True)
        save_sprites(path_of(style), list(names), list(images))
        print(f"{path_of(style)}: {len(names)} of {len(EMOJI_KINDS)} things")
    if args.facts:
        told = ((style, json.dumps(facts_of(style))) for style in args.styles)
        text = ",\n".join(f' "{style}": {facts}' for style, facts in told)
        args.facts.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
