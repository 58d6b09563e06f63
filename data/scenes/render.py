"""Scene graph -> 224×224 RGB picture, and which object each cell of its 7×7 grid belongs to.

Drawing is a pure function of the scene and of the fonts installed: Noto Color Emoji for objects
(required by the full world; the shapes-only world needs none) and DejaVu, Liberation, or else
Pillow's built-in font for signs.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from data.scenes.objects import COLORS, EMOJI_KINDS, KINDS, SHAPE_KINDS, WORDS
from data.scenes.scene import SIZE, Background, Scene, Thing
from models.errors import UserError

EMOJI_FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
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
GRID = 7
CELL = SIZE // GRID  # 32 pixels
LEVELS = (136, 96, 64, 48)  # pixels a side: sizes kept of every sprite, so that shrinking is cheap
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"  # that signs are written in
COVERED = 0.18  # share of a cell an object must cover to own it
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


def emoji_available() -> bool:
    return EMOJI_FONT.exists()


def require_emoji() -> None:
    """Raise the one error a user can act on, before any work is started."""
    if not emoji_available():
        raise UserError(
            f"no emoji font at {EMOJI_FONT}: install the Debian package "
            "fonts-noto-color-emoji, or build with --objects shapes"
        )


@cache
def _emoji_font() -> ImageFont.FreeTypeFont:
    require_emoji()
    return ImageFont.truetype(str(EMOJI_FONT), 109)  # the only size its bitmaps have


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


def _emoji_sprite(name: str) -> Image.Image:
    """The glyph cut to its ink, centred in a transparent square of `LEVELS[0]`."""
    sheet = Image.new("RGBA", (180, 180), (128, 128, 128, 0))
    ImageDraw.Draw(sheet).text((16, 16), KINDS[name].emoji, font=_emoji_font(), embedded_color=True)
    ink = sheet.crop(sheet.getchannel("A").getbbox())
    scale = LEVELS[0] / max(ink.size)
    ink = ink.resize(
        (max(1, round(ink.width * scale)), max(1, round(ink.height * scale))),
        Image.Resampling.LANCZOS,
    )
    square = Image.new("RGBA", (LEVELS[0],) * 2, (128, 128, 128, 0))
    square.paste(ink, ((LEVELS[0] - ink.width) // 2, (LEVELS[0] - ink.height) // 2))
    return square


@cache
def _levels(name: str) -> tuple[Image.Image, ...]:
    is_shape = KINDS[name].category == "shape"
    base = _shape_mask(name) if is_shape else _emoji_sprite(name)
    return tuple(
        base if n == base.width else base.resize((n, n), Image.Resampling.LANCZOS) for n in LEVELS
    )


def _fit(sprite: Image.Image, side: float, angle: float) -> Image.Image:
    """Scale to `side` and turn, in one resampling; the canvas grows with the turn."""
    scale = side / sprite.width
    cos, sin = math.cos(math.radians(angle)) / scale, math.sin(math.radians(angle)) / scale
    out = math.ceil(
        side * (abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle))))
    )
    half, middle = out / 2, sprite.width / 2
    matrix = (
        cos,
        -sin,
        middle - cos * half + sin * half,
        sin,
        cos,
        middle - sin * half - cos * half,
    )
    return sprite.transform((out, out), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)


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


def sprite(thing: Thing, background: Background) -> Image.Image:
    """The thing alone on a transparent canvas whose centre is the thing's centre."""
    if thing.kind == "sign":
        return _sign_sprite(thing, background)
    big_enough = [n for n in LEVELS if n >= thing.side * 0.9]
    level = LEVELS.index(big_enough[-1]) if big_enough else 0
    drawn = _fit(_levels(thing.name)[level], thing.side, thing.angle)
    if thing.kind == "emoji":
        return drawn
    image = Image.new("RGBA", drawn.size, thing.rgb)
    image.putalpha(drawn)
    return image


def _background(background: Background, rng: np.random.Generator) -> Image.Image:
    first, second = (np.array(c, np.float32) for c in (background.rgb, background.rgb2))
    if background.kind == "flat":
        return Image.new("RGB", (SIZE, SIZE), background.rgb)
    line = np.arange(SIZE, dtype=np.float32)
    if background.kind == "gradient":
        angle = rng.uniform(0, 2 * math.pi)
        mix = line[None] * math.cos(angle) + line[:, None] * math.sin(angle)
        mix = (mix - mix.min()) / (mix.max() - mix.min())
    elif background.kind == "stripes":
        period = float(rng.integers(14, 50))  # pixels
        angle = rng.choice((0.0, math.pi / 2, math.pi / 4))
        mix = (line[None] * math.cos(angle) + line[:, None] * math.sin(angle)) % period < period / 2
    else:
        cells = 7 if background.kind == "noise" else 40
        grid = Image.fromarray((rng.random((cells, cells)) * 255).astype(np.uint8))
        mix = np.asarray(grid.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32) / 255
    pixels = first + (second - first) * np.broadcast_to(mix, (SIZE, SIZE))[..., None]
    return Image.fromarray(pixels.astype(np.uint8))


@cache
def _noise_bank() -> np.ndarray:
    """Unit normal noise, drawn once: a picture takes a window of it, far cheaper than drawing."""
    return np.random.default_rng(0).standard_normal((2 * SIZE, 2 * SIZE, 3), np.float32)


def _finish(image: Image.Image, scene: Scene, rng: np.random.Generator) -> Image.Image:
    if scene.blur:
        image = image.filter(ImageFilter.GaussianBlur(scene.blur))
    pixels = np.asarray(image, np.float32) * scene.gain
    if scene.noise:
        y, x = rng.integers(0, SIZE, 2)
        pixels += _noise_bank()[y : y + SIZE, x : x + SIZE] * scene.noise
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def label_vocab() -> dict[str, list[str]]:
    """Meaning of every cell label, by plane; index 0 always means none."""
    digits = ["", *"0123456789"]
    return {
        "object": ["", *(k.name for k in SHAPE_KINDS + EMOJI_KINDS), "sign"],
        "color": ["", *COLORS],
        "size": ["", "small", "large"],
        "sign": ["", *WORDS, "<number>"],
        "digit_hundreds": digits,
        "digit_tens": digits,
        "digit_ones": digits,
        "centre": ["", "centre"],
    }


PLANES = tuple(label_vocab())


@cache
def _label_index() -> dict[str, dict[str, int]]:
    return {
        plane: {name: i for i, name in enumerate(names)} for plane, names in label_vocab().items()
    }


def thing_labels(thing: Thing) -> list[int]:
    """The label of every plane for a cell this thing owns (centre not set)."""
    index = _label_index()
    labels = [
        index["object"][thing.name],
        index["color"][thing.color],
        0 if thing.kind == "sign" else index["size"][thing.size],
        0,
        0,
        0,
        0,
        0,
    ]
    if thing.text.isdigit():
        labels[3] = index["sign"]["<number>"]
        for place, digit in enumerate(reversed(thing.text)):
            labels[6 - place] = int(digit) + 1
    elif thing.text:
        labels[3] = index["sign"][thing.text.lower()]
    return labels


def cell_of(thing: Thing) -> tuple[int, int]:
    """Row and column of the 32-pixel cell that holds a thing's centre, from the top left."""
    return tuple(min(GRID - 1, max(0, int(at // CELL))) for at in (thing.y, thing.x))


def render_with_cells(scene: Scene) -> tuple[Image.Image, np.ndarray]:
    """Picture and labels: int16 (len(PLANES), 7, 7), planes in the order of `label_vocab`."""
    rng = np.random.default_rng(scene.seed)
    image = _background(scene.background, rng)
    cells = np.zeros((len(PLANES), GRID, GRID), np.int16)
    best = np.full((GRID, GRID), COVERED, np.float32)
    for thing in scene.things:
        drawn = sprite(thing, scene.background)
        at = (round(thing.x - drawn.width / 2), round(thing.y - drawn.height / 2))
        image.paste(drawn, at, drawn)
        canvas = Image.new("L", (SIZE, SIZE))
        canvas.paste(
            255 if thing.kind == "sign" else drawn.getchannel("A"),
            (*at, at[0] + drawn.width, at[1] + drawn.height),
        )
        share = np.asarray(canvas.reduce(CELL), np.float32) / 255  # (7, 7)
        owned = share > best
        best = np.maximum(best, share)
        cells[:, owned] = np.array(thing_labels(thing), np.int16)[:, None]
    for thing in scene.things:  # after all: the cell of a centre belongs to its thing
        row, column = cell_of(thing)
        cells[:, row, column] = thing_labels(thing)
        cells[PLANES.index("centre"), row, column] = 1
    return _finish(image, scene, rng), cells


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


def cell_labels(scene: Scene) -> dict[str, np.ndarray]:
    """Plane name -> int16 (7, 7)."""
    return dict(zip(PLANES, render_with_cells(scene)[1], strict=True))
