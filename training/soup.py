"""Average the weights of several finished runs of stage `omni` or `audio` into one.

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

from models.audio import AudioEncoder
from models.checkpoint import Pretrained, read_json, write_json
from models.errors import UserError, one_line_errors
from models.omni import OmniModel
from models.projector import Projector

MODELS = {  # of a stage whose runs can go on from one another: what its folder holds, and where
    "omni": {"": OmniModel},
    "audio": {"": AudioEncoder, "projector": Projector},
}


def soup(shares: dict[Path, float], out: Path) -> None:
    """Write the mean of finished runs, each with its share, to `out`, with the last one's record.

    Raises:
        UserError: shares that do not sum up to 1, runs of several stages, or models of other sizes.
    """
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise UserError(f"the shares sum up to {sum(shares.values()):g}, not to 1")
    records = [read_json(folder / "training.json") for folder in shares]
    stages = sorted({record["stage"] for record in records})
    if len(stages) > 1 or stages[0] not in MODELS:
        raise UserError(f"runs of {' and '.join(stages)}: all must be of one stage, {' or '.join(MODELS)}")
    made = {name: mean(model, name, shares) for name, model in MODELS[stages[0]].items()}
    for name, model in made.items():
        model.save_pretrained(out / name)
    record = records[-1] | {"soup": [[share, str(folder)] for folder, share in shares.items()]}
    if len(records) > 1:
        record["before"] = records[-2]
    write_json(out / "training.json", record)


@torch.no_grad()
def mean(kind: type[Pretrained], name: str, shares: dict[Path, float]) -> Pretrained:
    """The mean of what lies at `name` in each folder; ears grow to the depth of the last ones first."""
    models = {folder: kind.from_pretrained(folder / name) for folder in shares}
    [*_, last] = models.values()
    for folder, model in models.items():
        if isinstance(last, AudioEncoder) and model.config == last.config:
            models[folder] = AudioEncoder(last.config).grow_from(model)
    states = [(model.state_dict(), shares[folder]) for folder, model in models.items()]
    wanted = {key: value.shape for key, value in last.state_dict().items()}
    for folder, model in models.items():
        if {key: value.shape for key, value in model.state_dict().items()} != wanted:
            raise UserError(f"{folder} has parts of other sizes than the last one: they cannot be averaged")
    last.load_state_dict({key: sum(share * state[key] for state, share in states) for key in wanted})
    return last


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
