"""A drawing as another hand would have drawn it: bent, and redrawn with other colours or lines.

Few artists have drawn the same things. Who learns from their drawings alone knows each drawing by heart.
What is done to one is a pure function of a seed.
"""

from __future__ import annotations

import random

from PIL import Image, ImageChops, ImageFilter

BEND = 0.09  # of the side: how far each point of the net may be moved
CELLS = 3  # of the net, a side
# Flat areas, these in other colours, dark lines on one colour, without fine detail.
WAYS = {"flat": 1, "painted": 2, "lines": 1, "soft": 1}  # and how often each is chosen
OTHER_COLORS = {"painted", "lines"}  # leave no colour its name
FEW = (3, 7)  # areas' colours
BLUR = (0.015, 0.045)  # of the side
LINE = 38  # levels between neighbours, from which a line is drawn between them


def bent(image: Image.Image, seed: int) -> Image.Image:
    """Other proportions, the same parts: a net of points is pulled here and there."""
    rng = random.Random(f"bent-{seed}")
    side = image.width
    steps = [round(i * side / CELLS) for i in range(CELLS + 1)]

    def moved(at: int) -> float:  # at the rim outwards alone, so that nothing is cut off
        return at + rng.uniform(-BEND * (at < side), BEND * (at > 0)) * side

    net = [[(moved(x), moved(y)) for x in steps] for y in steps]
    mesh = []
    for i in range(CELLS):
        for j in range(CELLS):
            box = (steps[j], steps[i], steps[j + 1], steps[i + 1])
            corners = net[i][j], net[i + 1][j], net[i + 1][j + 1], net[i][j + 1]
            mesh.append((box, tuple(place for corner in corners for place in corner)))
    return image.transform(image.size, Image.Transform.MESH, mesh, Image.Resampling.BILINEAR)


def redrawn(image: Image.Image, way: str, seed: int) -> Image.Image:
    """In one of WAYS."""
    rng = random.Random(f"redrawn-{seed}")
    if way == "soft":
        return image.filter(ImageFilter.GaussianBlur(image.width * rng.uniform(*BLUR)))
    alpha, inked = image.getchannel("A"), image.convert("RGB")
    if way == "lines":
        out = _lines(inked, alpha, rng)
    else:
        areas = inked.filter(ImageFilter.MedianFilter(5)).quantize(rng.randint(*FEW))
        if way == "painted":
            _paint(areas, rng)
        out = areas.convert("RGB")
    out.putalpha(alpha)
    return out


def _paint(areas: Image.Image, rng: random.Random) -> None:
    """Bring each area's colour nearer to one of its own, in place."""
    share = rng.uniform(0.3, 1.0)
    areas.putpalette([round(c + share * (rng.randint(0, 255) - c)) for c in areas.getpalette() or ()])


def _lines(inked: Image.Image, alpha: Image.Image, rng: random.Random) -> Image.Image:
    """Dark lines between areas, on one light colour."""
    edges = Image.new("L", inked.size)
    for plane in (*inked.split(), alpha):
        high, low = plane.filter(ImageFilter.MaxFilter(3)), plane.filter(ImageFilter.MinFilter(3))
        edges = ImageChops.lighter(edges, ImageChops.subtract(high, low))
    paper = Image.new("RGB", inked.size, tuple(rng.randint(150, 255) for _ in range(3)))
    ink = Image.new("RGB", inked.size, tuple(rng.randint(0, 70) for _ in range(3)))
    return Image.composite(ink, paper, edges.point(lambda level: 255 if level > LINE else 0))
