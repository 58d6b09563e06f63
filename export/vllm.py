"""The Thinker of a checkpoint as a Hugging Face folder, for vLLM and transformers.

    python -m export.vllm --out build/thinker

The folder holds config.json, model.safetensors and the tokenizer. vLLM serves it to `serve.py
--thinker_url`, which sends pictures and sounds as embeddings (docs/scale.md).
"""

import shutil
import sys
from pathlib import Path

from export.hf_tokenizer import FILES
from inference.omni import SHIPPED, Omni
from models.errors import Parser, UserError, one_line_errors, remark
from models.omni import thinker_of

MARK = ".written_by_export_vllm"  # an empty file: the folder may be written again


def check_out(out: Path, checkpoint: Path) -> None:
    """Refuse to write where another checkpoint, or anything else, stands."""
    if out.resolve() == checkpoint.resolve():
        raise UserError(f"{out} is the checkpoint itself and would be lost: name a new folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise UserError(f"{out} is there already and was not written by this command: name a new folder")


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = Parser("python -m export.vllm", description=__doc__.split("\n")[0])
    parser.add_argument("--ckpt_dir", type=Path, default=SHIPPED, help="omni, or text alone")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder")
    args = parser.parse_args(argv)
    check_out(args.out, args.ckpt_dir)
    omni = Omni.from_pretrained(args.ckpt_dir)
    if lacking := [name for name in FILES if not (omni.folder / name).is_file()]:
        make = f"python -m export.hf_tokenizer --ckpt_dir {omni.folder}"
        raise UserError(f"{omni.folder} has no {lacking[0]}: make it with {make}")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / MARK).touch()  # first: what was interrupted may be written again
        thinker_of(omni.model).save_pretrained(args.out)
        for name in FILES:
            shutil.copyfile(omni.folder / name, args.out / name)
    except OSError as error:
        raise UserError(f"cannot write {args.out}: {error.strerror or error}") from None
    remark(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
