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


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = Parser("python -m export.vllm", description=__doc__.split("\n")[0])
    parser.add_argument("--ckpt_dir", type=Path, default=SHIPPED, help="omni, or text alone")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the new folder")
    args = parser.parse_args(argv)
    if args.out.resolve() == args.ckpt_dir.resolve():
        raise UserError(f"{args.out} is the checkpoint itself and would be lost: name a new folder")
    omni = Omni.from_pretrained(args.ckpt_dir)
    if lacking := [name for name in FILES if not (omni.folder / name).is_file()]:
        make = f"python -m export.hf_tokenizer --ckpt_dir {omni.folder}"
        raise UserError(f"{omni.folder} has no {lacking[0]}: make it with {make}")
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        thinker_of(omni.model).save_pretrained(args.out)
        for name in FILES:
            shutil.copyfile(omni.folder / name, args.out / name)
    except OSError as error:
        raise UserError(f"cannot write {args.out}: {error.strerror or error}") from None
    remark(f"wrote {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
