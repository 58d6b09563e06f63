"""Put what a stage has newly trained into a finished checkpoint; everything else in it stays.

    python -m training.swap glance runs/tiny/glance/final checkpoints/omni_sft_tiny

Parts must have the sizes of the old ones: what was trained around them would not fit others. The
stage's training record and the row of the model card that tells of it come along. It measures nothing:
run evaluate.py afterwards.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import torch

from models.checkpoint import WEIGHTS, Pretrained, read_json, write_json
from models.codec import MelCodec
from models.errors import UserError, one_line_errors
from models.files import replacing
from models.glance import Glance
from models.omni import OPTIONAL, PARTS, save_part
from models.vocoder import Vocoder
from models.wordlm import FILE, WordLM
from training.export import PACKED
from training.model_card import stage_row

CLASSES: dict[str, type[Pretrained]] = PARTS | {"codec": MelCodec, "vocoder": Vocoder}
# stage -> the parts that it trains, of those in a checkpoint
TRAINED = {
    "glance": ("glance",),
    "audio": ("audio",),  # its projector belongs to the joint stage by now
    "finder": ("finder",),
    "expectation": ("expectation",),
    "words": (),  # a table, no network
    "codec": ("codec",),
    "vocoder": ("vocoder",),
    "omni": ("thinker", "vision_projector", "audio_projector"),
}


def swap(stage: str, source: Path, checkpoint: Path) -> None:
    """Replace the parts of a stage by those in `source`, its `final/`, or add one that was lacking.

    Raises:
        UserError: an unknown stage, a folder that is not what it should be, or other sizes.
    """
    if stage not in TRAINED:
        raise UserError(f"cannot swap '{stage}': choose one of {', '.join(TRAINED)}")
    made = {name: fitting(name, source, checkpoint) for name in TRAINED[stage]}
    table = WordLM.load(source / FILE) if stage == "words" else None
    record = read_json(source / "training.json")
    kept = checkpoint / "training" / f"{stage}.json"
    first = record
    while "before" in first:
        first = first["before"]
    if "--init_from" in first.get("command", "") and kept.exists():
        first["before"] = read_json(kept)  # what it began with is part of how it came about
    for name, part in made.items():
        save_part(checkpoint, name, part, torch.int8 if name in PACKED else torch.bfloat16)
    if table is not None:
        table.save(checkpoint / FILE)
        write_json(checkpoint / "config.json", read_json(checkpoint / "config.json") | {"words": True})
    if stage == "omni":
        forget(checkpoint, "expectation")
    write_json(kept, record)
    card = checkpoint / "README.md"
    text = with_row(card.read_text(encoding="utf-8"), stage, stage_row(stage, record))
    with replacing(card) as temporary:
        temporary.write_text(text, encoding="utf-8")


def forget(checkpoint: Path, name: str) -> None:
    """Take out a part that was learnt beside what has changed."""
    values = read_json(checkpoint / "config.json")
    if values["parts"].pop(name, None) is None:
        return
    print(f"{name} belongs to the Thinker before and is left out: train it anew")
    write_json(checkpoint / "config.json", values)
    (checkpoint / f"{name}.safetensors").unlink()
    (checkpoint / "training" / f"{name}.json").unlink(missing_ok=True)


def fitting(name: str, source: Path, checkpoint: Path) -> Pretrained:
    """The new part, which fits where the old one was."""
    stem = name if (source / f"{name}.safetensors").exists() else WEIGHTS
    new = CLASSES[name].from_pretrained(source, stem)
    if name in OPTIONAL and name not in read_json(checkpoint / "config.json")["parts"]:
        return new
    old = CLASSES[name].from_pretrained(checkpoint, name)
    if new.config != old.config:
        raise UserError(f"{source} does not fit {checkpoint}: its {name} has another configuration")
    if isinstance(new, Glance):  # the names, as the checkpoint's Thinker learnt to read them
        new.words.data.copy_(old.words.data)
    return new


def with_row(card: str, stage: str, row: str) -> str:
    """The card with the stage's row, in place of the old one or after the last stage's."""
    lines = card.splitlines(keepends=True)
    stages = [i for i, line in enumerate(lines) if re.match(r"\| \w+ \| `", line)]
    old = [i for i in stages if lines[i].startswith(f"| {stage} | `")]
    if old:
        lines[old[0]] = row
    elif stages:
        lines.insert(stages[-1] + 1, row)
    return "".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stage", choices=TRAINED, help="whose parts are replaced")
    parser.add_argument("source", type=Path, help="the stage's final/ folder")
    parser.add_argument("checkpoint", type=Path, help="the omni checkpoint that gets them")
    args = parser.parse_args(arguments)
    swap(args.stage, args.source, args.checkpoint)
    print(f"{args.checkpoint}: what {args.stage} trains is now that of {args.source}")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
