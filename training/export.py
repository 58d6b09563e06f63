"""From finished runs to shipped checkpoints: weights, tokenizer, training records, model card.

`export` writes `<target>/thinker_<preset>` and `<target>/omni_sft_<preset>`, each whole or not at
all. It trains nothing and measures nothing: the scores in a card are filled in by evaluate.py.

    python -m training.export --preset tiny --out checkpoints
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from export.hf_tokenizer import write_hf_tokenizer
from models.checkpoint import read_json, read_tensors, write_json
from models.errors import Parser, UserError, one_line_errors
from models.files import replace_folder
from models.ngram_lm import FILE, NgramLM
from models.omni import OmniModel
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.config import PRESETS
from training.model_card import omni_card, thinker_card
from training.objective import STAGES, Paths
from training.records import QUIZ
from training.speech import attach_speech

ROOT = Path(__file__).resolve().parent.parent
LIMIT_BYTES = 96_000_000  # of both folders together, for presets that are shipped
SHIPPED = ("nano", "tiny")
TEXT_STAGES = ("tokenizer", "thinker")


def export(paths: Paths, preset: str, target: Path) -> list[Path]:
    """Assemble both checkpoints under `target`; returns their folders.

    Raises:
        UserError: a stage is not finished, or the checkpoints are too large to ship.
    """
    for stage in STAGES:
        if not (paths.need(stage) / "training.json").is_file():
            raise UserError(f"{paths.final(stage)} has no training.json: train {stage} again")
    target.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[Path, Paths, str], None]] = {
        f"thinker_{preset}": write_thinker,
        f"omni_sft_{preset}": write_omni,
    }
    fresh = {name: target / f".{name}.new" for name in makers}
    try:
        for name, make in makers.items():
            shutil.rmtree(fresh[name], ignore_errors=True)
            fresh[name].mkdir()
            make(fresh[name], paths, preset)
        if preset in SHIPPED:
            check_size(list(fresh.values()))
        return [replace_folder(folder, target / name) for name, folder in fresh.items()]
    finally:
        for folder in fresh.values():
            shutil.rmtree(folder, ignore_errors=True)


def write_thinker(folder: Path, paths: Paths, preset: str) -> None:
    """The Thinker as a Qwen3 checkpoint that transformers loads."""
    source = paths.need("thinker")
    Thinker.from_pretrained(source)  # refuses what does not load
    for name in ("config.json", "model.safetensors", "tokenizer.model"):
        shutil.copy(source / name, folder / name)
    write_json(folder / "generation_config.json", generation_config(folder / "tokenizer.model"))
    write_hf_tokenizer(folder)
    records = copy_records(folder, paths, TEXT_STAGES)
    write_card(folder, thinker_card(preset, records, weights(folder), real_sets(paths)))


def write_omni(folder: Path, paths: Paths, preset: str) -> None:
    """The omni-model with its speaking parts."""
    source = paths.need("omni")
    omni = OmniModel.from_pretrained(source)
    omni.ngram = NgramLM.load(paths.need("audio") / FILE)
    omni.save_pretrained(folder)
    attach_speech(folder, paths)
    shutil.copy(source / "tokenizer.model", folder / "tokenizer.model")
    write_hf_tokenizer(folder)
    records = copy_records(folder, paths, STAGES)
    write_card(folder, omni_card(preset, records, weights(folder), [*real_sets(paths), *quizzes(paths)]))


def generation_config(tokenizer: Path) -> dict[str, Any]:
    """Greedy, as infer_chat.py is: placeholders are never made up."""
    made = Tokenizer(tokenizer)
    return {
        "bos_token_id": made.bos,
        "eos_token_id": made.eos,
        "pad_token_id": made.pad,
        "suppress_tokens": sorted(made.special - {made.eos}),
        "do_sample": False,
        "max_new_tokens": 128,
    }


def copy_records(folder: Path, paths: Paths, stages: tuple[str, ...]) -> dict[str, dict]:
    """training/<stage>.json of every stage that the checkpoint came from."""
    (folder / "training").mkdir()
    records = {}
    for stage in stages:
        text = (paths.final(stage) / "training.json").read_text(encoding="utf-8")
        (folder / "training" / f"{stage}.json").write_text(text, encoding="utf-8")
        records[stage] = json.loads(text)
    return records


def weights(folder: Path) -> dict[str, int]:
    """Parameters in each safetensors file of weights; the n-gram table has none."""
    counts = {}
    for path in sorted(folder.glob("*.safetensors")):
        if path.name != FILE:
            tensors = read_tensors(folder, path.stem)
            counts[path.stem] = sum(tensor.numel() for tensor in tensors.values())
    return counts


def real_sets(paths: Paths) -> list[str]:
    """Names of the real data sets these runs learnt from, as their readers call them."""
    used: set[str] = set()
    meta = paths.data / "corpus" / "meta.json"
    if meta.is_file():
        counts = json.loads(meta.read_text(encoding="utf-8"))["splits"]["train"]
        used |= set(counts) - {"tokens", "conversations", "told"}
    if used and (paths.data / "lexicon.jsonl").is_file():
        used.add("cmudict")
    for folder in ("hearing_real_train", "photos_train"):
        for index in sorted((paths.data / folder).glob("shard-*.jsonl")):
            with index.open(encoding="utf-8") as file:
                used |= {json.loads(line)["record"]["corpus"] for line in file}
    return sorted(used)


def quizzes(paths: Paths) -> list[str]:
    """The same for questions that the joint stage learns to decline, without their answers."""
    kept = paths.data / QUIZ
    return ["opentriviaqa"] if kept.is_file() and read_json(kept)["train"] else []


def write_card(folder: Path, text: str) -> None:
    """README.md of the checkpoint."""
    (folder / "README.md").write_text(text, encoding="utf-8")


def check_size(folders: list[Path]) -> None:
    """Refuse checkpoints too large for the repository."""
    size = sum(p.stat().st_size for folder in folders for p in folder.rglob("*") if p.is_file())
    if size >= LIMIT_BYTES:
        raise UserError(
            f"the checkpoints take {size / 1e6:.1f} MB, the limit is {LIMIT_BYTES / 1e6:.0f} MB: "
            "train smaller parts"
        )


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = Parser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", choices=PRESETS, default="tiny", help="that was trained")
    parser.add_argument("--runs_dir", type=Path, help="training runs (runs/PRESET)")
    parser.add_argument("--data_dir", type=Path, help="generated data (build/data/PRESET)")
    parser.add_argument("--out", type=Path, default=ROOT / "checkpoints", help="the new folders")
    args = parser.parse_args(arguments)
    paths = Paths.of(args.preset, args.data_dir, args.runs_dir)
    for folder in export(paths, args.preset, args.out):
        print(f"written: {folder}")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
