"""A loss curve as a PNG, drawn with Pillow (already needed for pictures). Not a plotting library."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

from models.files import replacing

SIZE = (960, 540)  # pixels
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 40, 50  # margins, pixels
COLOURS = ("#2a6fdb", "#d9480f", "#2b8a3e", "#862e9c")
SMOOTH = 0.9  # of the running mean drawn over the raw points
FEW = 50  # points: a curve of fewer is drawn as it is
RAW_LIMIT = 0.98  # share of the points the axis must hold: a first huge loss hides the rest

Point = tuple[float, float]


def draw_curves(path: Path, title: str, curves: dict[str, list[Point]]) -> None:
    """Draws each named curve of (x, y) points; raw pale, smoothed dark. Nothing when all empty."""
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return
    xs = [x for points in curves.values() for x, _ in points]
    ys = sorted(y for points in curves.values() for _, y in points)
    x0, x1 = min(xs), max(max(xs), min(xs) + 1)
    y0, y1 = ys[0], ys[min(len(ys) - 1, int(len(ys) * RAW_LIMIT))]
    y1 = max(y1, y0 + 1e-6)
    width, height = SIZE[0] - LEFT - RIGHT, SIZE[1] - TOP - BOTTOM

    def at(point: Point) -> Point:
        x, y = point
        return (
            LEFT + width * (x - x0) / (x1 - x0),
            TOP + height * (1 - min(max((y - y0) / (y1 - y0), 0), 1)),
        )

    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    draw.text((LEFT, 14), title, fill="black", font_size=16)
    for i in range(6):
        y = y0 + (y1 - y0) * i / 5
        x = x0 + (x1 - x0) * i / 5
        draw.line([at((x0, y)), at((x1, y))], fill="#dddddd")
        draw.text((LEFT - 8, at((x0, y))[1]), f"{y:.3g}", "#444444", anchor="rm", font_size=13)
        draw.text((at((x, y0))[0], SIZE[1] - 40), f"{x:.0f}", "#444444", anchor="mt", font_size=13)
    for i, (name, points) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        if len(points) < FEW:
            _line(draw, [at(p) for p in points], colour, width=2)
        else:
            _line(draw, [at(p) for p in points], _pale(colour))
            _line(draw, [at(p) for p in _smooth(points)], colour, width=2)
        draw.text((SIZE[0] - 160 + 80 * i, 14), name, fill=colour, font_size=16)
    with replacing(path) as temporary:
        image.save(temporary)


def _smooth(points: list[Point]) -> list[Point]:
    mean, weight, out = 0.0, 0.0, []
    for x, y in points:
        mean = SMOOTH * mean + (1 - SMOOTH) * y
        weight = SMOOTH * weight + (1 - SMOOTH)
        out.append((x, mean / weight))
    return out


def _line(draw: ImageDraw.ImageDraw, points: list[Point], colour: str, width: int = 1) -> None:
    draw.line(points if len(points) > 1 else points * 2, fill=colour, width=width)


def _pale(colour: str) -> str:
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{(c + 3 * 255) // 4:02x}" for c in channels)
