"""Scene -> 224×224 RGB picture, and what stands in each cell of its 7×7 grid.

Drawing is a pure function of the scene, of the fonts installed (DejaVu, Liberation, or else Pillow's
built-in one, for signs) and of the drawings that data/scenes/sprites.py reads.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps

from data.scenes.labels import CellLabels
from data.scenes.scene import SIZE, Background, Inset, Scene, Thing
from data.scenes.sights import CELL, GRID
from data.scenes.sprites import photo_ground, sprite

FONT_FOLDER = Path("/usr/share/fonts/truetype")
FONT_FILES = (
    "dejavu/DejaVuSans-Bold.ttf",
    "dejavu/DejaVuSans.ttf",
    "dejavu/DejaVuSerif-Bold.ttf",
    "dejavu/DejaVuSansMono-Bold.ttf",
    "liberation/LiberationSans-Bold.ttf",
    "liberation/LiberationSerif-Bold.ttf",
    "liberation/LiberationMono-Bold.ttf",
    "liberation/LiberationSans-Regular.ttf",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"  # that signs are written in
DARK, LIGHT = (20, 20, 20), (255, 255, 255)
# (plate, text and outline); a plate of None puts the text straight on the background.
PLATES = (
    (LIGHT, DARK),
    ((200, 30, 35), LIGHT),
    ((25, 70, 160), LIGHT),
    ((20, 110, 60), LIGHT),
    ((250, 210, 40), DARK),
    ((25, 25, 25), (250, 250, 250)),
    None,
    None,
)


@cache
def sign_fonts() -> tuple[str, ...]:
    """Font files found; empty means Pillow's built-in font."""
    return tuple(str(FONT_FOLDER / f) for f in FONT_FILES if (FONT_FOLDER / f).exists())


@cache
def sign_font(style: int, size: int) -> ImageFont.FreeTypeFont:
    fonts = sign_fonts()
    if not fonts:
        return ImageFont.load_default(size)
    return ImageFont.truetype(fonts[style % len(fonts)], size)


def _text_place(thing: Thing) -> tuple[int, float, float]:
    """Font size in pixels, and where on the plate the text begins."""
    width, height = round(thing.side), round(thing.height)
    size = int(height * 0.9)
    while size > 8:
        box = sign_font(thing.style, size).getbbox(thing.text)
        if box[2] - box[0] <= width * 0.88 and box[3] - box[1] <= height * 0.76:
            break
        size -= 2
    return size, (width - box[0] - box[2]) / 2, (height - box[1] - box[3]) / 2


def _sign_sprite(thing: Thing, background: Background) -> Image.Image:
    """Plate and text; text on the bare background takes black or white, whichever contrasts."""
    width, height = round(thing.side), round(thing.height)
    plate = PLATES[(thing.style // 64) % len(PLATES)]
    image = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    if plate is None:
        ink = (15, 15, 15) if sum(background.rgb) > 330 else (250, 250, 250)
        draw.rectangle((0, 0, width, height), fill=(*background.rgb, 0))
    else:
        ink = plate[1]
        radius = (0, height // 6)[thing.style // 32 % 2]
        draw.rounded_rectangle(
            (0, 0, width - 1, height - 1), radius, fill=plate[0], outline=plate[1], width=2
        )
    size, x, y = _text_place(thing)
    if plate is None:  # transparent pixels must carry the ink, or edges would be dark
        image.paste((*ink, 0), (0, 0, width, height))
    draw.text((x, y), thing.text, font=sign_font(thing.style, size), fill=(*ink, 255))
    if not thing.angle:
        return image
    return image.rotate(thing.angle, Image.Resampling.BICUBIC, expand=True)


def _drawn(thing: Thing, background: Background) -> Image.Image:
    """The thing alone on a transparent canvas whose centre is the thing's centre."""
    return _sign_sprite(thing, background) if thing.kind == "sign" else sprite(thing)


def _mix(background: Background, rng: np.random.Generator) -> np.ndarray:
    """How much of its second colour a background has where: (SIZE, SIZE) or what broadcasts to it."""
    line = np.arange(SIZE, dtype=np.float32)
    if background.kind == "gradient":
        angle = rng.uniform(0, 2 * math.pi)
        mix = line[None] * math.cos(angle) + line[:, None] * math.sin(angle)
        return (mix - mix.min()) / (mix.max() - mix.min())
    if background.kind in ("stripes", "checks"):
        period = float(rng.integers(14, 50))  # pixels
        angle = rng.choice((0.0, math.pi / 2, math.pi / 4))
        along = line[None] * math.cos(angle) + line[:, None] * math.sin(angle)
        across = line[:, None] * math.cos(angle) - line[None] * math.sin(angle)
        first, second = (v % period < period / 2 for v in (along, across))
        return first if background.kind == "stripes" else first ^ second
    if background.kind == "dots":
        period = float(rng.integers(12, 40))
        at = (line % period) - period / 2
        return at[None] ** 2 + at[:, None] ** 2 < (period * rng.uniform(0.2, 0.4)) ** 2
    cells = 7 if background.kind == "noise" else 40
    grid = Image.fromarray((rng.random((cells, cells)) * 255).astype(np.uint8))
    return np.asarray(grid.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32) / 255


def _photograph(rng: np.random.Generator) -> Image.Image | None:
    """A part of a photograph, out of focus; None where none were brought."""
    image = photo_ground(int(rng.integers(1 << 16)))
    if image is None:
        return None
    side = min(image.size)
    part = side * rng.uniform(0.5, 1.0)
    x, y = (rng.uniform(0, n - part) for n in image.size)
    return image.resize((SIZE, SIZE), Image.Resampling.BICUBIC, (x, y, x + part, y + part))


def _background(background: Background, rng: np.random.Generator) -> Image.Image:
    if background.kind == "flat":
        return Image.new("RGB", (SIZE, SIZE), background.rgb)
    photograph = _photograph(rng) if background.kind == "photo" else None
    if photograph is not None:
        return photograph
    first, second = (np.array(c, np.float32) for c in (background.rgb, background.rgb2))
    mix = np.broadcast_to(_mix(background, rng), (SIZE, SIZE))
    pixels = first + (second - first) * mix[..., None]
    return Image.fromarray(pixels.astype(np.uint8))


def _on_ground(image: Image.Image, inset: Inset, rng: np.random.Generator) -> Image.Image:
    """The background shrunk into its box on the ground of a screenshot."""
    ground = Image.new("RGB", (SIZE, SIZE), inset.rgb)
    if inset.bars:
        draw = ImageDraw.Draw(ground)
        ink = tuple(c - 70 if c > 127 else c + 70 for c in inset.rgb)
        for y in range(int(rng.integers(6, 14)), SIZE, int(rng.integers(10, 20))):
            draw.rectangle((8, y, int(rng.integers(40, SIZE)), y + 3), fill=ink)
    side = round(inset.side)
    ground.paste(image.resize((side, side)), (round(inset.x), round(inset.y)))
    return ground


@cache
def _noise_bank() -> np.ndarray:
    """Unit normal noise, drawn once: a picture takes a window of it, far cheaper than drawing."""
    return np.random.default_rng(0).standard_normal((2 * SIZE, 2 * SIZE, 3), np.float32)


def _finish(image: Image.Image, scene: Scene, rng: np.random.Generator) -> Image.Image:
    if scene.border:
        width, rgb = scene.border
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, SIZE - 1, SIZE - 1), outline=rgb, width=width)
    if scene.gray:
        image = ImageOps.grayscale(image).convert("RGB")
    if scene.blur:
        image = image.filter(ImageFilter.GaussianBlur(scene.blur))
    pixels = np.asarray(image, np.float32) * scene.gain
    if scene.fade:
        pixels += (255 - pixels) * scene.fade
    if scene.noise:
        y, x = rng.integers(0, SIZE, 2)
        pixels += _noise_bank()[y : y + SIZE, x : x + SIZE] * scene.noise
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def render_with_cells(scene: Scene) -> tuple[Image.Image, np.ndarray]:
    """Picture and labels: int16 (len(PLANES), 7, 7), planes in the order of `label_vocab`."""
    rng = np.random.default_rng(scene.seed)
    image, labels = _background(scene.background, rng), CellLabels()
    if scene.inset:
        image = _on_ground(image, scene.inset, rng)
    for thing in scene.things:
        drawn = _drawn(thing, scene.background)
        at = (round(thing.x - drawn.width / 2), round(thing.y - drawn.height / 2))
        image.paste(drawn, at, drawn)
        labels.add(thing, drawn.getchannel("A"), at)
    return _finish(image, scene, rng), labels.centre(scene.things)


def letter_labels(scene: Scene) -> np.ndarray:
    """Which letter stands in each 16-pixel patch: int64 (14, 14), 0 for none, else 1 + its place
    in `LETTERS`. The few degrees that a sign may be turned by are left out of account."""
    labels = np.zeros((2 * GRID, 2 * GRID), np.int64)
    middles = (np.arange(2 * GRID) + 0.5) * (CELL // 2)  # of the patches, pixels
    for thing in scene.things:
        if not thing.text:
            continue
        size, start, _ = _text_place(thing)
        font = sign_font(thing.style, size)
        left, top, right, bottom = thing.box
        rows = (middles > top + 0.1 * thing.height) & (middles < bottom - 0.1 * thing.height)
        for place, letter in enumerate(thing.text):
            x0 = left + start + font.getlength(thing.text[:place])
            x1 = left + start + font.getlength(thing.text[: place + 1])
            columns = (middles >= x0) & (middles < x1)
            labels[np.ix_(rows, columns)] = 1 + LETTERS.index(letter.lower())
    return labels


def render(scene: Scene) -> Image.Image:
    return render_with_cells(scene)[0]
