"""Put one newly trained part into a finished checkpoint; everything else in it stays.

    python -m training.swap glance runs/tiny/glance/final checkpoints/omni_sft_tiny

The part must have the sizes of the old one: what was trained around it would not fit others. Its
training record and the row of the model card that tells of it come along. It measures nothing: run
evaluate.py afterwards.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from models.checkpoint import Pretrained, read_json
from models.codec import MelCodec
from models.errors import UserError, one_line_errors
from models.glance import Glance
from models.omni import save_part
from models.vocoder import Vocoder
from training.model_card import stage_row

PARTS: dict[str, type[Pretrained]] = {"glance": Glance, "codec": MelCodec, "vocoder": Vocoder}


def swap(name: str, source: Path, checkpoint: Path) -> None:
    """Replace a part by the one in `source`, a stage's `final/`.

    Raises:
        UserError: an unknown part, a folder that is not what it should be, or other sizes.
    """
    if name not in PARTS:
        raise UserError(f"cannot swap '{name}': choose one of {', '.join(PARTS)}")
    old = PARTS[name].from_pretrained(checkpoint, name)
    new = PARTS[name].from_pretrained(source)
    if new.config != old.config:
        raise UserError(f"{source} does not fit {checkpoint}: its {name} has another configuration")
    record = read_json(source / "training.json")
    if isinstance(new, Glance):  # the names, as the checkpoint's Thinker learnt to read them
        new.words.data.copy_(old.words.data)
    kept = checkpoint / "training" / f"{name}.json"
    if "--init_from" in record["command"]:  # what it began with is part of how it came about
        record["before"] = read_json(kept)
    save_part(checkpoint, name, new)
    kept.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    card = checkpoint / "README.md"
    lines = card.read_text(encoding="utf-8").splitlines(keepends=True)
    fresh = stage_row(name, record)
    told = [fresh if line.startswith(f"| {name} | `") else line for line in lines]
    card.write_text("".join(told), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=PARTS, help="what is replaced")
    parser.add_argument("source", type=Path, help="the stage's final/ folder")
    parser.add_argument("checkpoint", type=Path, help="the omni checkpoint that gets it")
    args = parser.parse_args(arguments)
    swap(args.part, args.source, args.checkpoint)
    print(f"{args.checkpoint}: {args.part} is now that of {args.source}")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
