"""Scene graphs: what is in a picture, where, and how it is drawn. The truth that answers are read from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

SIZE = 224  # pixels a side of the square that a vision encoder sees
BACKGROUND_KINDS = ("flat", "gradient", "noise", "stripes", "texture", "checks", "dots", "photo")
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
BOARD = 8  # squares a side
Box = tuple[float, float, float, float]  # x0, y0, x1, y1, pixels
RGB = tuple[int, int, int]


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
    def box(self) -> Box:
        half_h = (self.height or self.side) / 2
        return (self.x - self.side / 2, self.y - half_h, self.x + self.side / 2, self.y + half_h)

    @property
    def key(self) -> tuple[str, str]:
        """Things with the same key are counted together."""
        return (self.name, self.color if self.kind == "shape" else self.text)

    def moved(self, x: float, y: float, scale: float = 1.0) -> None:
        """Put the centre elsewhere and scale the thing, in place."""
        self.x, self.y = round(x, 1), round(y, 1)
        self.side, self.height = round(self.side * scale, 1), round(self.height * scale, 1)
        if self.kind != "sign":
            self.size = size_word(self.side)


@dataclass
class Background:
    kind: str  # of BACKGROUND_KINDS
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
    frame: Box = (0, 0, SIZE, SIZE)  # the picture's own box within the square that is seen
    inset: Inset | None = None  # the background and the things are within it
    gray: bool = False
    fade: float = 0.0  # share of white mixed in
    border: tuple[int, RGB] | None = None  # pixels, colour

    @property
    def width(self) -> float:
        return self.frame[2] - self.frame[0]

    @property
    def height(self) -> float:
        return self.frame[3] - self.frame[1]

    def groups(self) -> dict[tuple[str, str], list[Thing]]:
        """Things by key, in the order they were placed."""
        groups: dict[tuple[str, str], list[Thing]] = {}
        for thing in self.things:
            groups.setdefault(thing.key, []).append(thing)
        return groups

    def objects(self) -> list[Thing]:
        """Everything but signs."""
        return [thing for thing in self.things if thing.kind != "sign"]

    def shares(self, thing: Thing) -> tuple[float, float]:
        """Where a thing's centre is: shares of the picture's width and height."""
        return (
            (thing.x - self.frame[0]) / self.width,
            (thing.y - self.frame[1]) / self.height,
        )

    def square(self, thing: Thing) -> str:
        """ "c2": the square of an 8 × 8 board that holds a thing's centre, a to h from the left, 1 to 8
        from the top. The thirds that "where" asks for end between squares."""
        column, row = (min(BOARD - 1, max(0, int(share * BOARD))) for share in self.shares(thing))
        return f"{chr(ord('a') + column)}{row + 1}"

    def in_order(self) -> list[list[Thing]]:
        """Groups in reading order of their first things, and so the things of each."""
        places = {id(thing): self.square(thing)[::-1] for thing in self.things}
        groups: dict[tuple[str, str], list[Thing]] = {}
        for thing in sorted(self.things, key=lambda t: (places[id(t)], t.x)):
            groups.setdefault(thing.key, []).append(thing)
        return list(groups.values())

    def region(self, thing: Thing) -> str | None:
        """Where a thing is, or None when the position is borderline."""
        return region_of(*self.shares(thing))

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Scene:
        things = [_thing(t) for t in data["things"]]
        inset = data.get("inset") and Inset(**data["inset"])
        frame = tuple(data.get("frame", (0, 0, SIZE, SIZE)))
        background = Background(**data["background"])
        made = {"background": background, "things": things, "inset": inset, "frame": frame}
        return cls(**data | made)


def _thing(data: dict) -> Thing:
    drawing = Drawing(**data.get("drawing", {}))
    return Thing(**data | {"rgb": tuple(data["rgb"]), "drawing": drawing})


def region_of(x: float, y: float) -> str | None:
    """The one of `REGIONS` for shares of the width and height."""
    names = []
    for share, words in ((y, ("top", "", "bottom")), (x, ("left", "", "right"))):
        if share <= LOW:
            names.append(words[0])
        elif MIDDLE[0] <= share <= MIDDLE[1]:
            names.append(words[1])
        elif share >= HIGH:
            names.append(words[2])
        else:
            return None
    return " ".join(name for name in names if name) or "middle"
