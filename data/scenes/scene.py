"""Scene graphs: what is in a picture, where, and how it is drawn.

A scene is the ground truth that captions, questions and cell labels are read from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from data.scenes.objects import RGB

SIZE = 224  # pixels a side
SMALL = (40, 58)  # pixels a side; the gap to LARGE keeps "small" and "large" unambiguous
LARGE = (76, 108)
REGIONS = (
    "top left",
    "top",
    "top right",
    "left",
    "middle",
    "right",
    "bottom left",
    "bottom",
    "bottom right",
)
LOW, MIDDLE, HIGH = (
    0.34,
    (0.41, 0.59),
    0.66,
)  # shares of the side: between them "where" is not asked
SIZE_WORDS = ("tiny", "small", "large", "huge")
SIZE_BOUNDS = (33.0, 67.0, 130.0)  # pixels a side, between one word and the next


def size_word(side: float) -> str:
    """ "small": what a side in pixels is called."""
    return SIZE_WORDS[sum(side >= bound for bound in SIZE_BOUNDS)]


@dataclass
class Drawing:
    """How a thing is drawn: by which artist, and what was done to the drawing."""

    style: str = "noto"
    variant: int = 0  # of several drawings of a thing
    mirror: bool = False
    hue: float = 0.0  # turn of all hues, degrees
    saturation: float = 1.0
    value: float = 1.0
    outline: str = ""  # "white", "black" or none
    shadow: bool = False
    shade: float = 0.0  # how much darker one side is than the other, 0 to 1
    squeeze: float = 1.0  # below 1: so much narrower; above: so much flatter
    bend: int = 0  # a seed; 0: not bent (data/scenes/hands.py)
    redrawn: str = ""  # in which way by another hand, if at all


@dataclass
class Thing:
    """One object; `box` is (x0, y0, x1, y1) in pixels and bounds what is drawn, turned or not."""

    kind: str  # "shape" | "emoji" | "sign"
    name: str
    color: str  # "" where no one word fits
    size: str  # of SIZE_WORDS
    x: float  # centre, pixels
    y: float
    side: float  # longest side, pixels
    angle: float = 0.0  # degrees, counter-clockwise
    rgb: RGB = (0, 0, 0)
    text: str = ""  # signs only
    height: float = 0.0  # signs only: the plate's height, pixels
    style: int = 0  # signs only: font and plate
    drawing: Drawing = field(default_factory=Drawing)

    @property
    def box(self) -> tuple[float, float, float, float]:
        half_h = (self.height or self.side) / 2
        return (self.x - self.side / 2, self.y - half_h, self.x + self.side / 2, self.y + half_h)

    @property
    def key(self) -> tuple[str, str]:
        """Things with the same key are counted together."""
        return (self.name, self.color if self.kind == "shape" else self.text)

    @property
    def region(self) -> str | None:
        """Where it is, or None when the position is borderline."""
        return region_of(self.x, self.y)

    def moved(self, x: float, y: float, scale: float = 1.0) -> None:
        """Put the centre elsewhere and scale the thing, in place."""
        self.x, self.y = round(x, 1), round(y, 1)
        self.side, self.height = round(self.side * scale, 1), round(self.height * scale, 1)
        if self.kind != "sign":
            self.size = size_word(self.side)


@dataclass
class Background:
    kind: str  # flat, gradient, noise, stripes, texture, checks, dots or photo
    color: str  # "" where no one word fits
    rgb: RGB
    rgb2: RGB


@dataclass
class Inset:
    """A small picture on a larger ground, as in a screenshot: its box and the ground's colour."""

    x: float
    y: float
    side: float
    rgb: RGB
    bars: bool = False  # rows of lines around it, as a page or a program has


@dataclass
class Scene:
    layout: str
    background: Background
    things: list[Thing] = field(default_factory=list)
    seed: int = 0  # of the pixel noise
    noise: float = 0.0  # standard deviation, grey levels
    blur: float = 0.0  # radius, pixels
    gain: float = 1.0  # brightness factor of the whole picture
    inset: Inset | None = None  # the background and the things are within it
    gray: bool = False
    fade: float = 0.0  # share of white mixed in
    border: tuple[int, RGB] | None = None  # pixels, colour

    def groups(self) -> dict[tuple[str, str], list[Thing]]:
        """Things by key, in the order they were placed."""
        groups: dict[tuple[str, str], list[Thing]] = {}
        for thing in self.things:
            groups.setdefault(thing.key, []).append(thing)
        return groups

    def objects(self) -> list[Thing]:
        """Everything but signs."""
        return [thing for thing in self.things if thing.kind != "sign"]

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Scene:
        things = [_thing(t) for t in data["things"]]
        inset = data.get("inset") and Inset(**data["inset"])
        background = Background(**data["background"])
        return cls(**data | {"background": background, "things": things, "inset": inset})


def _thing(data: dict) -> Thing:
    drawing = Drawing(**data.get("drawing", {}))
    return Thing(**data | {"rgb": tuple(data["rgb"]), "drawing": drawing})


def region_of(x: float, y: float) -> str | None:
    """The one of `REGIONS` that a place in pixels is in."""
    names = []
    for value, words in ((y, ("top", "", "bottom")), (x, ("left", "", "right"))):
        share = value / SIZE
        if share <= LOW:
            names.append(words[0])
        elif MIDDLE[0] <= share <= MIDDLE[1]:
            names.append(words[1])
        elif share >= HIGH:
            names.append(words[2])
        else:
            return None
    return " ".join(name for name in names if name) or "middle"
