"""A recording as a few integers per 40 ms, and back.

    python -m inference.codec encode examples/sample_audio.wav codes.safetensors
    python -m inference.codec decode codes.safetensors back.wav --codebooks 2

The file holds `codes` (T, K) and, as text, the codec they belong to: codes of another codec mean
nothing, and are refused.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by OpenMP when torch is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

import argparse
import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from inference.media import Limits, check_file, load_audio
from inference.omni import SHIPPED
from inference.output import check_audio_path, check_writable, replace_file, write_audio
from inference.synthesis import CHUNK, VOCODERS, waveform
from models.codec import MelCodec
from models.errors import Parser, UserError, one_line_errors, remark
from models.mel import HOP, SAMPLE_RATE, log_mel
from models.vocoder import Vocoder

MAX_SECONDS = 300.0  # of a recording; beyond it the spectrum takes gigabytes
SUFFIX = ".safetensors"


def identity(codec: MelCodec) -> dict:
    """What tells one codec from another: its config, and a digest of its codebooks."""
    books = codec.quantizer.codebooks.float().contiguous().numpy().tobytes()
    return {"config": asdict(codec.config), "codebooks": hashlib.sha256(books).hexdigest()[:12]}


@torch.inference_mode()
def encode(codec: MelCodec, samples: Tensor) -> Tensor:
    """samples (n,) at 16 kHz -> codes (T, K); the last frame is filled up with silence."""
    samples = F.pad(samples, (0, -len(samples) % (codec.config.stack * HOP)))
    return codec.encode(log_mel(samples)[None])[0]


@torch.inference_mode()
def decode(
    codec: MelCodec,
    vocoder: Vocoder,
    codes: Tensor,
    num_codebooks: int | None = None,
    kind: str = "neural",
) -> Tensor:
    """codes (T, K) -> samples (T·640,) at 16 kHz."""
    chunks = codes[None].split(CHUNK, 1)  # each (1, t, K)
    return torch.cat(list(waveform(codec, vocoder, chunks, kind, num_codebooks)), 1)[0]


def write_codes(path: Path, codec: MelCodec, codes: Tensor, samples: int) -> None:
    """Codes (T, K), the codec they belong to and how many samples they stand for."""
    about = json.dumps({**identity(codec), "samples": samples, "rate": SAMPLE_RATE})
    small = {"codes": codes.to(torch.int16 if codes.max() < 2**15 else torch.int32).contiguous()}
    replace_file(path, lambda temporary: save_file(small, temporary, {"codec": about}))


def read_codes(path: Path, codec: MelCodec) -> tuple[Tensor, int]:
    """Codes (T, K) of this codec and the samples they stand for.

    Raises:
        UserError: no such file, not one of ours, or of another codec.
    """
    check_file(path, "codes")
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["codec"])
            codes, samples = file.get_tensor("codes").long(), int(about["samples"])
    except (SafetensorError, OSError, KeyError, ValueError, TypeError):
        raise UserError(f"{path} holds no codes written by `inference.codec encode`") from None
    if {key: about.get(key) for key in ("config", "codebooks")} != identity(codec):
        raise UserError(f"{path} was made by another codec: decode it with that one's --ckpt_dir")
    books, size = codec.config.num_codebooks, codec.config.codebook_size
    whole = codes.dim() == 2 and codes.shape[1] == books and len(codes)
    if not whole or codes.min() < 0 or codes.max() >= size:
        raise UserError(f"{path}: codes {tuple(codes.shape)} are not (T, {books}) below {size}")
    return codes, samples


def run_encode(args: argparse.Namespace) -> None:
    """A recording into a file of codes."""
    check_file(args.source, "audio")
    if args.target.suffix != SUFFIX:
        raise UserError(f"{args.target}: write codes to a name ending in {SUFFIX}")
    check_writable(args.target)
    codec = MelCodec.from_pretrained(args.ckpt_dir, "codec")
    samples = load_audio(args.source, Limits(max_seconds=MAX_SECONDS))
    codes = encode(codec, torch.from_numpy(samples))
    write_codes(args.target, codec, codes, len(samples))
    remark(f"wrote {args.target}: {len(samples) / SAMPLE_RATE:.2f} s, {codes.shape[0]} frames × "
           f"{codes.shape[1]} codebooks, {codec.config.bitrate / 1000:.2f} kbit/s")


def run_decode(args: argparse.Namespace) -> None:
    """A file of codes into a recording."""
    check_file(args.source, "codes")
    check_audio_path(args.target)
    codec = MelCodec.from_pretrained(args.ckpt_dir, "codec")
    books = codec.config.num_codebooks if args.codebooks is None else args.codebooks
    if not 1 <= books <= codec.config.num_codebooks:
        raise UserError(f"--codebooks {books}: this codec has 1 to {codec.config.num_codebooks}")
    codes, samples = read_codes(args.source, codec)
    vocoder = Vocoder.from_pretrained(args.ckpt_dir, "vocoder").quicken()
    wave = decode(codec, vocoder, codes, books, args.vocoder)[:samples]
    write_audio(args.target, wave.numpy(), SAMPLE_RATE)
    bitrate = codec.config.bitrate * books / codec.config.num_codebooks  # bits a second
    remark(f"wrote {args.target}: {len(wave) / SAMPLE_RATE:.2f} s from {books} codebooks, "
           f"{bitrate / 1000:.2f} kbit/s")


def build_parser() -> argparse.ArgumentParser:
    """Two commands, with the same order of names: from, to."""
    parser = Parser("python -m inference.codec", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    for name, run, kinds in (
        ("encode", run_encode, ("IN.wav", f"OUT{SUFFIX}")),
        ("decode", run_decode, (f"IN{SUFFIX}", "OUT.wav")),
    ):
        command = commands.add_parser(name, help=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("source", type=Path, metavar=kinds[0], help="read")
        command.add_argument("target", type=Path, metavar=kinds[1], help="written")
        command.add_argument("--ckpt_dir", type=Path, default=SHIPPED, metavar="FOLDER", help="weights")
    command.add_argument("--codebooks", type=int, help="use only the first so many: fewer bits")
    command.add_argument("--vocoder", choices=VOCODERS, default="neural", help="or griffinlim")
    return parser


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    args = build_parser().parse_args(argv)
    args.run(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
