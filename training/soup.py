"""Average the weights of several finished runs of the joint stage into one.

    python -m training.soup --out runs/tiny/omni/final 0.4=runs/a/omni/final 0.6=runs/b/omni/final

Runs that went on from one another lie in one valley of the loss: the mean of their weights is often
better than either, and keeps more of what the later one has unlearnt. It costs nothing at use. The
result is a stage's folder: training/swap.py puts it into a checkpoint.

Papers: model soups arXiv:2203.05482; robust fine-tuning arXiv:2109.01903.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from models.checkpoint import read_json, write_json
from models.errors import UserError, one_line_errors
from models.omni import OmniModel


def soup(shares: dict[Path, float], out: Path) -> None:
    """Write the mean of omni-models, each with its share, to `out`, with the last one's record.

    Raises:
        UserError: shares that do not sum up to 1, or models of other sizes.
    """
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise UserError(f"the shares sum up to {sum(shares.values()):g}, not to 1")
    models = {folder: OmniModel.from_pretrained(folder) for folder in shares}
    records = [read_json(folder / "training.json") for folder in shares]
    [*_, last] = models.values()
    states = [(model.state_dict(), shares[folder]) for folder, model in models.items()]
    wanted = {key: value.shape for key, value in last.state_dict().items()}
    for folder, model in models.items():
        if {key: value.shape for key, value in model.state_dict().items()} != wanted:
            raise UserError(f"{folder} has parts of other sizes than the last one: they cannot be averaged")
    with torch.no_grad():
        last.load_state_dict({key: sum(share * state[key] for state, share in states) for key in wanted})
    last.save_pretrained(out)
    record = records[-1] | {"soup": [[share, str(folder)] for folder, share in shares.items()]}
    if len(records) > 1:
        record["before"] = records[-2]
    write_json(out / "training.json", record)


def portion(text: str) -> tuple[Path, float]:
    """0.4=FOLDER."""
    share, _, folder = text.partition("=")
    return Path(folder), float(share)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder that is written")
    parser.add_argument(
        "shares", nargs="+", type=portion, metavar="SHARE=FOLDER", help="a run's final/ and its share of 1"
    )
    args = parser.parse_args(arguments)
    soup(dict(args.shares), args.out)
    print(f"{args.out}: the mean of {len(args.shares)} runs")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
