"""The finder: which things stand where, read off the eyes' tokens.

The eyes (models/vision.py) learnt to tell what stands in every cell of a drawn scene, and what they
know lies open in their tokens: one linear layer a question reads it off. A thing whose centre lies
near the border of two cells is claimed by both; claims whose centres agree are one thing. What was
found becomes the notes that questions are answered from (models/notes.py). Photographs are left to
the glance.

Papers: things as centre points with offsets, CenterNet arXiv:1904.07850; linear probes
arXiv:1610.01644.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from models.checkpoint import Pretrained
from models.english import article
from models.notes import CELL, GRID, Sight, film_notes, picture_notes

WHOLE = "background"  # told of the picture as a whole, from the mean of its tokens
DIGITS = 11  # none, or one of ten, in each of three places of a number on a sign
FAINT, ENOUGH = 0.05, 0.45  # claims below FAINT are ignored; those for a thing sum up to ENOUGH
NEAR = {"small": 26.0, "large": 46.0}  # pixels: centres nearer than this are of one thing


@dataclass
class FinderConfig:
    """What it can tell, in the order of its heads' outputs."""

    input_size: int = 192  # channels of the eyes' tokens
    names: list[str] = field(default_factory=list)  # of things; after them come signs
    plurals: dict[str, str] = field(default_factory=dict)  # of names that take more than an s
    shapes: int = 0  # the first so many things are told apart by colour
    colors: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # on signs; after them come numbers


@dataclass
class Found:
    """What a picture shows."""

    background: str  # its colour
    sights: list[Sight]

    @property
    def words(self) -> set[str]:
        """For all that it shows: "red", "circle", "circles"."""
        named = " ".join(f"{sight.one} {sight.many}" for sight in self.sights)
        return set(named.split()) - {"that", "says", "of"}


class Finder(Pretrained):
    """Tokens of the eyes (B, 49, input) -> logits of each question, (B, 49, n) or (B, n) of WHOLE."""

    config_class = FinderConfig

    def __init__(self, config: FinderConfig):
        super().__init__()
        self.config = config
        colors = len(config.colors)
        sizes = {"centre": 1, "offset": 2, "large": 1, "name": len(config.names) + 1, "color": colors,
                 "word": len(config.words) + 1, "digits": 3 * DIGITS, "background": colors}
        self.heads = nn.ModuleDict({name: nn.Linear(config.input_size, n) for name, n in sizes.items()})

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        whole = tokens.mean(1)  # (B, input)
        return {name: head(whole if name == WHOLE else tokens) for name, head in self.heads.items()}

    @torch.inference_mode()
    def find(self, tokens: Tensor) -> list[Found]:
        """What each of B pictures shows. tokens (B, 49, input)"""
        told = {name: logits.float().cpu() for name, logits in self(tokens).items()}
        return [self.found({name: rows[i] for name, rows in told.items()}) for i in range(len(tokens))]

    def found(self, told: dict[str, Tensor]) -> Found:
        """From the logits of one picture: (49, n) each, (n,) of WHOLE."""
        claims, large = told["centre"].sigmoid()[:, 0], told["large"].sigmoid()[:, 0]  # (49,) each
        centres = CELL * (middles() + told["offset"])  # (49, 2) pixels
        shares = {
            name: told[name].unflatten(1, (-1, width)).softmax(-1)  # (49, places, width)
            for name, width in (("name", len(self.config.names) + 1), ("color", len(self.config.colors)),
                                ("word", len(self.config.words) + 1), ("digits", DIGITS))
        }
        sights = []
        for cells in groups(claims, centres, large):
            weights = claims[cells] / claims[cells].sum()  # (n,)
            best = {
                name: torch.einsum("n,npw->pw", weights, share[cells]).argmax(-1).tolist()
                for name, share in shares.items()
            }
            x, y = (weights @ centres[cells]).tolist()
            size = "large" if weights @ large[cells] > 0.5 else "small"
            sights.append(self.sight(best, size, x, y))
        return Found(self.config.colors[int(told[WHOLE].argmax())], sights)

    def sight(self, best: dict[str, list[int]], size: str, x: float, y: float) -> Sight:
        """The words for one thing: `best` holds what each head says of it."""
        config, name = self.config, best["name"][0]
        if name == len(config.names):
            word, digits = best["word"][0], "".join(str(d - 1) for d in best["digits"] if d)
            text = config.words[word] if word < len(config.words) else digits
            return Sight(f"sign that says {text}", f"signs that says {text}", "", x, y)
        color = f"{config.colors[best['color'][0]]} " if name < config.shapes else ""
        one = config.names[name]
        return Sight(f"{color}{one}", f"{color}{config.plurals.get(one, one + 's')}", size, x, y)


def middles() -> Tensor:
    """Where each cell's middle is, from the left and from the top, in cells. (49, 2)"""
    at = torch.arange(GRID) + 0.5
    rows, columns = torch.meshgrid(at, at, indexing="ij")
    return torch.stack([columns, rows], -1).flatten(0, 1)


def groups(claims: Tensor, centres: Tensor, large: Tensor) -> list[list[int]]:
    """Cells that claim the same thing, for each thing, in reading order of the surest.

    claims (49,) in 0..1, centres (49, 2) in pixels, large (49,) in 0..1
    """
    gathered: list[list[int]] = []
    for cell in claims.argsort(descending=True).tolist():
        if claims[cell] < FAINT:
            break
        for cells in gathered:
            near = NEAR["large" if large[cells[0]] > 0.5 else "small"]
            if (centres[cell] - centres[cells[0]]).abs().max() < near:
                cells.append(cell)
                break
        else:
            gathered.append([cell])
    return sorted(cells for cells in gathered if claims[cells].sum() > ENOUGH)


def notes(found: list[Found]) -> str:
    """What is written down of one picture, or of several as the frames of a film."""
    if len(found) == 1:
        return picture_notes(article(f"{found[0].background} background"), found[0].sights)
    return film_notes([one.sights for one in found])
