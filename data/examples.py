"""Make `examples/sample_image.png` and `examples/sample_video.mp4`: `python -m data.examples`.

Both are fixed scenes of the world, so the right answers are known; `examples/README.md` has them.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

from data.scenes.clips import FPS, write_video
from data.scenes.objects import COLORS
from data.scenes.render import render
from data.scenes.scene import Background, Scene, Thing
from models.errors import Parser, one_line_errors

SECONDS = 2


def sample_image() -> Scene:
    """A dog, a red circle and a yellow star on a blue background."""
    blue = (120, 165, 235)
    return Scene(
        "several",
        Background("gradient", "blue", blue, (140, 182, 246)),
        [
            Thing("emoji", "dog", "", "large", 66, 130, 104),
            Thing("shape", "circle", "red", "small", 168, 166, 56, rgb=COLORS["red"]),
            Thing("shape", "star", "yellow", "small", 164, 58, 58, angle=6.0, rgb=COLORS["yellow"]),
        ],
    )


def sample_video() -> list[Scene]:
    """A car drives to the right past a tree; the first and last eighth of the time it stands."""
    white = (246, 246, 244)
    start = Scene(
        "several",
        Background("flat", "white", white, white),
        [
            Thing("emoji", "tree", "green", "large", 112, 66, 96),
            Thing("emoji", "car", "red", "small", 44, 168, 58),
        ],
    )
    frames, total = [], SECONDS * FPS
    for i in range(total):
        share = min(1.0, max(0.0, (i / (total - 1) - 0.125) / 0.75))
        frame = copy.deepcopy(start)
        frame.things[1].x = 44 + 130 * share
        frames.append(frame)
    return frames


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    parser = Parser(description="Draw the sample picture and the sample video.")
    parser.add_argument("--out", type=Path, default=Path("examples"), help="a folder")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    render(sample_image()).save(args.out / "sample_image.png")
    write_video(args.out / "sample_video.mp4", [render(scene) for scene in sample_video()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
