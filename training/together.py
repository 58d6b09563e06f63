"""Put the looks of several finished runs of stage `glance` side by side.

    python -m training.together --out runs/tiny/glance/both runs/a/glance/final runs/b/glance/final

Their probabilities are averaged when the model looks (models/glance.py). Unlike weights (training/soup.py)
these need not lie in one valley: runs may have begun apart. It costs the time and the room of each. The
result is a stage's folder: training/swap.py puts it into a checkpoint.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.checkpoint import read_json, write_json
from models.errors import UserError, one_line_errors
from models.glance import Glance


def together(folders: list[Path], out: Path) -> None:
    """Write one glance with the looks of all to `out`, with the last one's record.

    Raises:
        UserError: glances of other names or widths than the first one.
    """
    several = [Glance.from_pretrained(folder) for folder in folders]
    records = [read_json(folder / "training.json") for folder in folders]
    for folder, one in zip(folders, several, strict=True):
        if one.config != several[0].config:
            raise UserError(f"{folder} has other names or sizes than {folders[0]}")
    Glance.together(several).save_pretrained(out)
    record = records[-1] | {"together": [str(folder) for folder in folders]}
    write_json(out / "training.json", record)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder that is written")
    parser.add_argument("folders", nargs="+", type=Path, help="final/ of each run")
    args = parser.parse_args(arguments)
    together(args.folders, args.out)
    print(f"{args.out}: the looks of {len(args.folders)} runs")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
