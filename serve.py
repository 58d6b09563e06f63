"""Serve μOmni: a page to talk to it, and OpenAI's API for any client (docs/serving.md).

    python serve.py
"""

import argparse
import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by OpenMP when torch is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

from models.errors import Parser, UserError, one_line_errors

NEEDED = "install what the server needs: pip install -r requirements-serve.txt"


def build_parser() -> argparse.ArgumentParser:
    parser = Parser("serve.py", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine alone")
    parser.add_argument("--port", type=int, default=8000, help="0 = any free one; default: 8000")
    parser.add_argument(
        "--api_key", default=os.environ.get("MUOMNI_API_KEY"),
        help="what clients must send; default: the variable MUOMNI_API_KEY, or none",
    )
    parser.add_argument("--ckpt_dir", metavar="FOLDER", help="default: checkpoints/omni_sft_tiny")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "int8"], default="fp32")
    parser.add_argument(
        "--max_queue", type=int, default=64, metavar="N",
        help="requests that may wait beside those being answered; more get 429; default: 64",
    )
    parser.add_argument(
        "--thinker_url", metavar="URL",
        help="of a vLLM that runs the Thinker, such as http://127.0.0.1:8001/v1; default: it runs here",
    )
    return parser


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Serve until stopped; returns the exit code."""
    args = build_parser().parse_args(argv)
    if args.max_queue < 0:
        raise UserError("--max_queue must be 0 or more")
    if not 0 <= args.port < 65_536:
        raise UserError("--port must be 0 to 65535")
    key = args.api_key
    if key is not None and not (key.strip() and key.isascii() and key.isprintable()):
        raise UserError("--api_key is empty or not printable ASCII: clients send it in a header")
    try:
        from serving.server import run
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed: {NEEDED}") from None
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
