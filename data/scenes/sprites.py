"""Drawings of things as transparent images: shapes drawn here, everyday things by artists.

The Noto drawings come out of Debian's emoji font, the others out of the sprite files that
`python -m data.readers.emoji` makes, and photographs out of those of `data/readers/cutouts.py`.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from data.readers.cutouts import GROUND
from data.readers.drawings import HINT, SpriteFile, available, path_of
from data.scenes.hands import bent, redrawn
from data.scenes.objects import KINDS
from data.scenes.scene import Drawing, Thing
from models.errors import UserError

EMOJI_FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
LEVELS = (136, 96, 64, 48)  # pixels a side: sizes kept of every sprite, so that shrinking is cheap
KEPT = 4000  # altered sprites that a process remembers
OUTLINES = {"white": (255, 255, 255), "black": (25, 25, 25)}
SHADOW = (0.05, 0.06, 0.35)  # to the right and down as shares of the side, and its opacity


def emoji_available() -> bool:
    return EMOJI_FONT.exists()


def require_emoji() -> None:
    """Raise the one error a user can act on, before any work is started."""
    if not emoji_available():
        raise UserError(
            f"no emoji font at {EMOJI_FONT}: install the Debian package "
            "fonts-noto-color-emoji, or build with --objects shapes"
        )


def require_styles(styles: tuple[str, ...]) -> None:
    """Raise one line that names the styles that are not here; photographs are optional."""
    require_emoji()
    missing = [s for s in styles if s not in ("noto", "photo") and not available(s)]
    if missing:
        raise UserError(f"no drawings in the style {', '.join(missing)}: {HINT}")


@cache
def _emoji_font() -> ImageFont.FreeTypeFont:
    require_emoji()
    return ImageFont.truetype(str(EMOJI_FONT), 109)  # the only size its bitmaps have


def _polygon(corners: int, inner: float = 1.0, start: float = -90.0) -> list[tuple[float, float]]:
    """Points on the unit circle; `inner` pulls every second one in (stars)."""
    points = []
    for i in range(corners):
        angle = math.radians(start + 360 * i / corners)
        radius = 1.0 if i % 2 == 0 else inner
        points.append((radius * math.cos(angle), radius * math.sin(angle)))
    return points


def _heart() -> list[tuple[float, float]]:
    angles = [2 * math.pi * i / 90 for i in range(90)]
    return [
        (
            16 * math.sin(t) ** 3 / 17,
            -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 17,
        )
        for t in angles
    ]


_CORNERS = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "triangle": [(0, -0.92), (1, 0.82), (-1, 0.82)],
    "diamond": [(0, -1), (0.68, 0), (0, 1), (-0.68, 0)],
    "cross": [
        (-0.33, -1),
        (0.33, -1),
        (0.33, -0.33),
        (1, -0.33),
        (1, 0.33),
        (0.33, 0.33),
        (0.33, 1),
        (-0.33, 1),
        (-0.33, 0.33),
        (-1, 0.33),
        (-1, -0.33),
        (-0.33, -0.33),
    ],
    "arrow": [(-1, -0.3), (0.15, -0.3), (0.15, -0.8), (1, 0), (0.15, 0.8), (0.15, 0.3), (-1, 0.3)],
    "star": _polygon(10, 0.42),
    "pentagon": _polygon(5),
    "hexagon": _polygon(6, start=0.0),
    "heart": _heart(),
}


def _shape_mask(name: str) -> Image.Image:
    """White shape on black, `LEVELS[0]` a side, drawn at four times that for smooth edges."""
    big = LEVELS[0] * 4
    mask = Image.new("L", (big, big))
    draw = ImageDraw.Draw(mask)
    if name in ("circle", "ring"):
        draw.ellipse((0, 0, big - 1, big - 1), fill=255)
        if name == "ring":
            edge = big * 0.24
            draw.ellipse((edge, edge, big - edge, big - edge), fill=0)
    else:
        draw.polygon(
            [(big / 2 + x * big / 2, big / 2 + y * big / 2) for x, y in _CORNERS[name]], fill=255
        )
    inner = LEVELS[0] - 4  # an empty rim of two pixels keeps turned edges smooth
    framed = Image.new("L", (LEVELS[0],) * 2)
    framed.paste(mask.resize((inner, inner), Image.Resampling.LANCZOS), (2, 2))
    return framed


def _glyph(name: str) -> Image.Image:
    """Noto's drawing of a thing, cut to its ink."""
    sheet = Image.new("RGBA", (180, 180), (128, 128, 128, 0))
    ImageDraw.Draw(sheet).text((16, 16), KINDS[name].emoji, font=_emoji_font(), embedded_color=True)
    return sheet.crop(sheet.getchannel("A").getbbox())


@cache
def sprite_file(style: str) -> SpriteFile:
    """A style's sprites; "photo" are those that training may see, "photo_test" those it may not."""
    return SpriteFile(path_of("photo_train" if style == "photo" else style))


@cache
def photographs(style: str) -> SpriteFile | None:
    """Cut-outs and grounds, or None where no photographs were brought."""
    return sprite_file(style) if available("photo_train" if style == "photo" else style) else None


def _drawn(style: str, name: str, variant: int) -> Image.Image:
    """An artist's drawing, or a cut-out; Noto's where there is none."""
    if style.startswith("photo"):
        source = photographs(style)
        if source is None or not source.variants(name):
            return _glyph(name)
        return source.get(name, variant)
    return _glyph(name) if style == "noto" else sprite_file(style).get(name)


def _squared(ink: Image.Image, weighted: bool) -> Image.Image:
    """Scaled to `LEVELS[0]` and centred in a transparent square.

    Args:
        weighted: colours count by their alpha; without, clear pixels must not be dark.
    """
    scale = LEVELS[0] / max(ink.size)
    size = (max(1, round(ink.width * scale)), max(1, round(ink.height * scale)))
    ink = ink.convert("RGBa" if weighted else "RGBA").resize(size, Image.Resampling.LANCZOS).convert("RGBA")
    square = Image.new("RGBA", (LEVELS[0],) * 2, (128, 128, 128, 0))
    square.paste(ink, ((LEVELS[0] - ink.width) // 2, (LEVELS[0] - ink.height) // 2))
    return square


def _hues(image: Image.Image, hue: float, saturation: float, value: float) -> Image.Image:
    """Hues turned by degrees, saturation and value multiplied."""
    h, s, v = image.convert("RGB").convert("HSV").split()
    h = h.point([(i + round(hue * 256 / 360)) % 256 for i in range(256)])
    s = s.point([min(255, round(i * saturation)) for i in range(256)])
    v = v.point([min(255, round(i * value)) for i in range(256)])
    out = Image.merge("HSV", (h, s, v)).convert("RGB")
    out.putalpha(image.getchannel("A"))
    return out


@lru_cache(maxsize=KEPT)
def _levels(style: str, name: str, variant: int) -> tuple[Image.Image, ...]:
    is_shape = KINDS[name].category == "shape"
    base = _shape_mask(name) if is_shape else _squared(_drawn(style, name, variant), style != "noto")
    return tuple(
        base if n == base.width else base.resize((n, n), Image.Resampling.LANCZOS) for n in LEVELS
    )


def _fit(sprite: Image.Image, side: float, angle: float, squeeze: float) -> Image.Image:
    """Scale to `side`, squeeze and turn, in one resampling; the canvas grows with the turn."""
    scale = side / sprite.width
    cos, sin = math.cos(math.radians(angle)) / scale, math.sin(math.radians(angle)) / scale
    out = math.ceil(
        side * (abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle))))
    )
    half, middle = out / 2, sprite.width / 2
    wide, high = max(1.0, 1 / squeeze), max(1.0, squeeze)
    matrix = (
        cos * wide,
        -sin * wide,
        middle - (cos - sin) * half * wide,
        sin * high,
        cos * high,
        middle - (sin + cos) * half * high,
    )
    return sprite.transform((out, out), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


def _outlined(image: Image.Image, rgb: tuple[int, int, int], width: int) -> Image.Image:
    """With a line around the ink; the canvas grows by it."""
    grown = Image.new("RGBA", (image.width + 2 * width, image.height + 2 * width), (*rgb, 0))
    alpha = Image.new("L", grown.size)
    alpha.paste(image.getchannel("A"), (width, width))
    grown.putalpha(alpha.filter(ImageFilter.MaxFilter(2 * width + 1)))
    grown.alpha_composite(image, (width, width))
    return grown


def _shadowed(image: Image.Image, side: float) -> Image.Image:
    """With a soft shadow to the right below; the canvas grows on all sides, so that its centre stays."""
    right, down, opacity = SHADOW
    dx, dy = max(1, round(right * side)), max(1, round(down * side))
    rim = max(dx, dy) + 2
    out = Image.new("RGBA", (image.width + 2 * rim, image.height + 2 * rim), (0, 0, 0, 0))
    alpha = Image.new("L", out.size)
    alpha.paste(image.getchannel("A").point(lambda a: round(a * opacity)), (rim + dx, rim + dy))
    out.putalpha(alpha.filter(ImageFilter.GaussianBlur(max(1.0, side * 0.02))))
    out.alpha_composite(image, (rim, rim))
    return out


def _shaded(image: Image.Image, amount: float) -> Image.Image:
    """Darker towards the lower right, by `amount` at the corner."""
    x, y = (np.linspace(0, 1, n, dtype=np.float32) for n in image.size)
    light = 255 * (1 - amount * (x[None] + y[:, None]) / 2)  # (H, W)
    shade = Image.fromarray(light.astype(np.uint8))
    out = ImageChops.multiply(image.convert("RGB"), Image.merge("RGB", (shade,) * 3))
    out.putalpha(image.getchannel("A"))
    return out


def _finished(image: Image.Image, drawing: Drawing, side: float) -> Image.Image:
    """What is done to a drawing once it has its size."""
    if drawing.shade:
        image = _shaded(image, drawing.shade)
    if drawing.outline:
        image = _outlined(image, OUTLINES[drawing.outline], max(1, round(side / 40)))
    return _shadowed(image, side) if drawing.shadow else image


def sprite(thing: Thing) -> Image.Image:
    """A shape or an everyday thing alone, on a transparent canvas whose centre is the thing's."""
    drawing = thing.drawing
    big_enough = [n for n in LEVELS if n >= thing.side * 0.9]
    level = LEVELS.index(big_enough[-1]) if big_enough else 0
    variant = drawing.variant if drawing.style.startswith("photo") else 0
    drawn = _levels(drawing.style, thing.name, variant)[level]
    if drawing.mirror:
        drawn = drawn.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if (drawing.hue, drawing.saturation, drawing.value) != (0.0, 1.0, 1.0):
        drawn = _hues(drawn, drawing.hue, drawing.saturation, drawing.value)
    if drawing.bend:
        drawn = bent(drawn, drawing.bend)
    if drawing.redrawn:
        drawn = redrawn(drawn, drawing.redrawn, drawing.variant)
    drawn = _fit(drawn, thing.side, thing.angle, drawing.squeeze)
    if thing.kind == "shape":
        image = Image.new("RGBA", drawn.size, thing.rgb)
        image.putalpha(drawn)
        drawn = image
    return _finished(drawn, drawing, thing.side)


def photo_ground(variant: int) -> Image.Image | None:
    """A photograph as a ground, RGB; None where no photographs were brought."""
    source = photographs("photo")
    if source is None or not source.variants(GROUND):
        return None
    return source.get(GROUND, variant).convert("RGB")
