"""What each image token should read as, in the Thinker's own words.

Fresh projectors hand the Thinker vectors it has never seen, and grounding then has to emerge from
answers alone: after 640 steps of joint training it had not (docs/lab-notebook.md). A world that we
render knows what every cell shows. So the vision projector is scored, inside the vision stage,
against the Thinker's (fixed) embeddings. A token is to look like the words for what it shows,
"red" + "circle" + "one", or "blue" + "background", and for its own place in the grid, "D" + "6".
How far right, down and large the thing is are amounts along the directions from "left" to "right",
"top" to "bottom" and "small" to "large". To the Thinker a picture then reads like a spreadsheet of
7 × 7 cells, whose addresses its chain of thought cites (data/scenes/sights.py).

The global token is to look like "photo" + "fox", or "photo" + "drawing" where there is no photograph.

A cross-entropy against all other words and not a distance to the right words: by least squares the
names blurred into each other (cupcakes became cameras).
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.scenes.labels import PLANES, label_vocab
from data.scenes.objects import COLORS
from data.scenes.scene import LARGE, SIZE, SMALL, Scene
from data.scenes.sights import CELL, COLUMN_LETTERS, GRID
from models.projector import Projector, ProjectorConfig
from models.tokenizer import Tokenizer
from training.objective import OWN_LOGIT, likeness_scale

INNER = 480  # channels inside the projector
AXES = (("left", "right"), ("top", "bottom"), ("small", "large"))
# Of a squared error in half picture widths, beside nats. With 20, and with sizes beyond "large", this
# loss outweighed all others: after 300 steps of nano a quarter of the colours were right instead of 98 %.
AXIS_WEIGHT = 4.0
EMPTY = 0.2  # weight of a cell with nothing in it: most cells are empty
DIGITS = ("digit_hundreds", "digit_tens", "digit_ones")


def places(scene: Scene, cells: np.ndarray) -> np.ndarray:
    """Where the thing of each cell is, and how large, each in about -1..1: float32 (49, 3).

    Args:
        cells: (planes, 7, 7). A cell belongs to the nearest thing of its name.
    """
    names = label_vocab()["object"]
    out = np.zeros((GRID * GRID, len(AXES)), np.float32)
    for i, label in enumerate(cells[PLANES.index("object")].flatten()):
        alike = [thing for thing in scene.things if thing.name == names[label]]
        if not label or not alike:
            continue
        y, x = (CELL * (place + 0.5) for place in divmod(i, GRID))  # pixels
        owner = min(alike, key=lambda t: max(abs(t.x - x), abs(t.y - y)) / t.side)
        middle, reach = (SMALL[0] + LARGE[1]) / 2, (LARGE[1] - SMALL[0]) / 2  # pixels
        size = 0.0 if owner.kind == "sign" else min(1.0, (owner.side - middle) / reach)
        out[i] = 2 * owner.x / SIZE - 1, 2 * owner.y / SIZE - 1, size
    return out


class WordReader(nn.Module):
    """The vision projector and its loss against the Thinker's embeddings.

    Args:
        width: channels of the vision encoder.
        table: the Thinker's embeddings (V, hidden), which stay as they are.
        names: that the global token may tell.
    """

    def __init__(self, width: int, table: Tensor, tokenizer: Tokenizer, names: list[str]):
        super().__init__()
        hidden = table.shape[1]
        self.projector = Projector(ProjectorConfig(width, hidden, INNER))
        self.scale = likeness_scale(table)

        def vector(words: str) -> Tensor:  # (hidden,)
            return table[tokenizer.encode(words)].sum(0)

        def vectors(words: list[str]) -> Tensor:  # (n, hidden)
            return torch.stack([vector(f" {word}") if word else table.new_zeros(hidden) for word in words])

        vocab = label_vocab()
        signs = vocab["sign"][:-1]
        said = torch.stack([vector(f"{w.capitalize()}.") if w else table.new_zeros(hidden) for w in signs])
        words = {
            "object": vectors(["background", *vocab["object"][1:]]),
            "color": vectors(["", *COLORS]),
            "column": vectors(list(COLUMN_LETTERS)),
            "row": torch.stack([vector(str(row + 1)) for row in range(GRID)]),  # "6" of "D6": no blank
            # As a question and as an answer spells it; numbers are told by their digits.
            "sign": torch.cat([vectors(signs) + said, vector(" number")[None]]),
        }
        named = vectors([f"photo {name}" for name in names]) if names else table.new_zeros(0, hidden)
        self.register_buffer("names", named, persistent=False)
        digits = vectors(vocab["digit_ones"])
        for turn, place in enumerate(DIGITS, 1):  # the same digit reads differently in each place
            words[place] = digits.roll(turn * hidden // (len(DIGITS) + 1), 1)
        for plane, matrix in words.items():
            self.register_buffer(plane, matrix, persistent=False)
        axes = torch.stack([vector(f" {end}") - vector(f" {start}") for start, end in AXES])
        self.register_buffer("axes", axes / axes.square().sum(1, keepdim=True), persistent=False)
        self.register_buffer("one", vector(" one"), persistent=False)

    def names_read(self, tokens: Tensor) -> Tensor:
        """Logits of the names, as the global tokens (B, D) read. -> (B, names)"""
        return self.scale * self.projector(tokens).float() @ self.names.float().T

    def forward(
        self, tokens: Tensor, cells: Tensor, background: Tensor, where: Tensor
    ) -> tuple[Tensor, dict[str, tuple[Tensor, Tensor]]]:
        """Summed loss, and what is right of how much.

        Args:
            tokens: (B, 49, D).
            cells: (B, planes, 49) labels.
            background: (B,) colours, -1 for none.
            where: (B, 49, 3) from `places`.
        """
        read = self.projector(tokens).float()  # (B, 49, hidden)
        label = dict(zip(PLANES, cells.unbind(1), strict=True))  # (B, 49) each
        thing = label["object"] > 0
        number = label["sign"] == len(self.sign) - 1
        weights = thing + EMPTY * ~thing  # (B, 49)
        color = torch.where(thing, label["color"], background[:, None] + 1)
        place = torch.arange(GRID * GRID, device=cells.device).expand_as(thing)  # (B, 49)
        planes = {
            "object": (label["object"], weights),
            "color": (color, weights * (color > 0)),
            "sign": (label["sign"], (label["sign"] > 0).float()),
            "column": (place % GRID, weights),
            "row": (place // GRID, weights),
        }
        planes |= {digit: (label[digit], number.float()) for digit in DIGITS}
        total, logs = read.new_zeros(()), {}
        for plane, (wanted, weight) in planes.items():
            logits = self.scale * read @ getattr(self, plane).float().T  # (B, 49, n)
            loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
            total = total + (loss * weight.flatten()).sum()
            asked = (weight * thing).float()
            right = (logits.argmax(-1) == wanted) * asked
            logs[f"read_{plane}"] = (right.sum().detach(), asked.sum().clamp_min(1e-6))
        errors = (read @ self.axes.float().T - where).square()  # (B, 49, 3)
        errors = (errors * thing[..., None]).sum((0, 1))  # (3,)
        total = total + AXIS_WEIGHT * errors.sum()
        for (_, end), error in zip(AXES, errors, strict=True):
            logs[f"off_{end}"] = (error.detach(), thing.sum())
        centre = self.scale * read @ self.one.float() - OWN_LOGIT / 2  # (B, 49)
        is_centre = (label["centre"] > 0).float()
        loss = F.binary_cross_entropy_with_logits(centre, is_centre, reduction="none")
        total = total + (loss * weights).sum()
        logs["read_centre"] = (((centre > 0) == (is_centre > 0)) & thing).sum(), thing.sum()
        return total, logs
