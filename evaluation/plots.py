"""docs/results.json -> docs/figures/speed-*.png, as tables are made of it.

Each picture carries a digest of the figures in it and of this file, so that an old one is found
without drawing it again: other versions of matplotlib give other bytes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from evaluation.speeds import growth
from models.files import replacing

FOLDER = Path("docs") / "figures"
DIGEST = "Drawn from"  # the entry in a picture's metadata
SIZE = (7.0, 4.2)  # inches
DOTS = 110  # an inch


@dataclass(frozen=True)
class Plot:
    """One picture of a bench whose rows are `CONTESTANT, NUMBER`."""

    bench: str
    across: str
    up: str
    milliseconds: bool  # of one token, instead of tokens a second

    def lines(self, results: dict[str, Any]) -> dict[str, dict[int, float]]:
        """What is drawn, by contestant."""
        found = growth(results, self.bench)
        if not self.milliseconds:
            return found
        return {who: {n: 1000 / v for n, v in speeds.items()} for who, speeds in found.items()}

    def digest(self, results: dict[str, Any]) -> str:
        """Changes with the figures and with the way they are drawn."""
        text = json.dumps([repr(self), self.lines(results)])
        return hashlib.sha256(text.encode() + Path(__file__).read_bytes()).hexdigest()


PLOTS = {
    "speed-context.png": Plot(
        "context", "tokens before, log scale", "ms for one more token, log scale", True
    ),
    "speed-batch.png": Plot(
        "batch", "rows at once, log scale", "tokens a second, all rows together", False
    ),
}


def draw(plot: Plot, results: dict[str, Any], path: Path) -> None:
    """One picture; a bench without figures gives one that says so."""
    from matplotlib.figure import Figure  # not needed to see that pictures are current

    figure = Figure(figsize=SIZE, layout="constrained")
    axes, lines = figure.subplots(), plot.lines(results)
    for who, values in lines.items():
        axes.plot(list(values), list(values.values()), marker="o", label=who)
    if lines:
        axes.set_xscale("log", base=2)
        ticks = sorted({number for values in lines.values() for number in values})
        axes.set_xticks(ticks, map(str, ticks), minor=False)
        axes.legend()
    else:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes)
    if lines and plot.milliseconds:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=plot.across, ylabel=plot.up)
    axes.grid(alpha=0.3)
    marks = {DIGEST: plot.digest(results), "Software": None}
    figure.savefig(path, format="png", dpi=DOTS, metadata=marks)


def is_current(plot: Plot, results: dict[str, Any], path: Path) -> bool:
    """Whether the picture is there and shows these figures."""
    if not path.is_file():
        return False
    with Image.open(path) as picture:
        return picture.info.get(DIGEST) == plot.digest(results)


def stale_plots(root: Path, results: dict[str, Any]) -> list[Path]:
    """Pictures that do not show the results."""
    paths = {root / FOLDER / name: plot for name, plot in PLOTS.items()}
    return [path for path, plot in paths.items() if not is_current(plot, results, path)]


def write_plots(root: Path, results: dict[str, Any]) -> list[Path]:
    """Draw those anew; returns their paths."""
    old = stale_plots(root, results)
    for path in old:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            draw(PLOTS[path.name], results, temporary)
    return old
