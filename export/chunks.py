"""The Thinker in chunks: a few programs with fixed shapes, for ONNX Runtime or Core ML.

    python -m export.chunks --target onnx --num-chunks 4 --export-embeddings --export-lm-head --out DIR

Each `chunk_N` is some of the layers with the keys and values that they keep, `embeddings.npy` and
`lm_head` what stands before and after them. `infer_chat.py --model_dir DIR --chunked` chats from it.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from export.chunk_check import verify
from export.chunk_modules import (
    CoreMLChunk,
    LMHead,
    OnnxChunk,
    layer_ranges,
    vocabulary_parts,
)
from export.chunk_targets import need_package, to_coreml, to_onnx
from inference.chunked.manifest import EMBEDDINGS, FORMAT, LM_HEAD, NAME, SUFFIXES, ChunkManifest
from inference.chunked.plan import compute_plan
from inference.omni import SHIPPED
from models.checkpoint import read_json
from models.errors import Parser, UserError, one_line_errors, remark
from models.thinker import Thinker

SEQ_LEN = 8  # positions of a call: a prompt takes few calls, a token little padding
CONTEXT = 2048  # positions of a state, where the model's context is longer
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")  # not copied: the chunks are the weights


@dataclass(frozen=True)
class Options:
    """What is written, and how it is cut; None: as fits the model."""

    target: str = "onnx"
    num_chunks: int = 1
    seq_len: int = SEQ_LEN
    max_context_length: int | None = None
    embeddings: bool = False
    lm_head: bool = False


def plan_chunks(thinker: Thinker, options: Options) -> ChunkManifest:
    """How this Thinker is cut.

    Raises:
        UserError: it cannot be.
    """
    c = thinker.config
    if c.decoupled:
        raise UserError("a Thinker with attention dba is not a Qwen3: it cannot be cut into chunks")
    if not 1 <= options.num_chunks <= c.num_hidden_layers:
        raise UserError(
            f"--num-chunks must be 1 to {c.num_hidden_layers}, the model's layers, "
            f"not {options.num_chunks}"
        )
    context = options.max_context_length
    context = min(CONTEXT, c.max_position_embeddings) if context is None else context
    if not 2 <= context <= c.max_position_embeddings:
        raise UserError(
            f"--max-context-length must be 2 to {c.max_position_embeddings}, not {context}"
        )
    if not 1 <= options.seq_len <= context:
        raise UserError(f"--seq-len must be 1 to {context}, the context, not {options.seq_len}")
    return ChunkManifest(
        options.target,
        layer_ranges(c.num_hidden_layers, options.num_chunks),
        options.seq_len,
        context,
        vocabulary_parts(c.vocab_size),
        c.to_hugging_face(),
    )


def write_chunks(thinker: Thinker, folder: Path, options: Options) -> ChunkManifest:
    """Write programs, embeddings and manifest into a folder."""
    manifest = plan_chunks(thinker, options)
    hidden = torch.zeros(1, thinker.config.hidden_size, 1, manifest.seq_len)
    for i, (first, last) in enumerate(manifest.layers):
        path = folder / manifest.file(f"chunk_{i}")
        shape, sizes = manifest.state_shape(i), (manifest.seq_len, manifest.state_length)
        position = torch.zeros(1, dtype=torch.int32)
        if manifest.target == "onnx":
            state = torch.zeros(shape)
            to_onnx(OnnxChunk(thinker, first, last, *sizes), (hidden, position, state, state), path)
        else:
            to_coreml(CoreMLChunk(thinker, first, last, *sizes), (hidden, position), path, shape)
    if options.embeddings:
        table = thinker.model.embed_tokens.weight.detach().float().numpy()
        np.save(folder / EMBEDDINGS, table.astype(np.float16))
    if options.lm_head:
        head, path = LMHead(thinker, manifest.vocab_chunks), folder / manifest.file(LM_HEAD)
        to_onnx(head, (hidden,), path) if manifest.target == "onnx" else to_coreml(head, (hidden,), path)
    manifest.write(folder)  # last: a folder with a manifest is whole
    return manifest


def copy_beside(source: Path, folder: Path) -> None:
    """Copy what a chat needs besides the Thinker: tokenizer, config, encoders, voice."""
    omni = read_json(source / "config.json").get("model_type") == "muomni"
    for path in sorted(source.iterdir()):
        weights = path.suffix in WEIGHTS or path.name.endswith(".index.json")
        if path.is_file() and path.stem != "thinker" and (omni or not weights):
            shutil.copy(path, folder / path.name)


def ours(folder: Path) -> bool:
    """Whether this command wrote a folder: others have a manifest.json, too."""
    try:
        return read_json(folder / NAME).get("format") == FORMAT
    except UserError:
        return False


def check_out(out: Path) -> None:
    """Refuse to write where something else stands."""
    if out.exists() and not (out.is_dir() and (ours(out) or not any(out.iterdir()))):
        raise UserError(f"{out} is there already and holds no chunks: name another folder")
    if not out.parent.is_dir():
        raise UserError(f"{out}: the folder {out.parent} does not exist; make it first")
    if not os.access(out.parent, os.W_OK):
        raise UserError(f"cannot write {out}: {out.parent} is not writable")


def run(source: Path, out: Path, options: Options) -> tuple[ChunkManifest, str]:
    """Export a checkpoint folder; an old export is replaced by a complete new one.

    Returns:
        The manifest, and what was found when it was run.
    """
    if not source.is_dir():
        raise UserError(f"the checkpoint folder {source} does not exist")
    check_out(out)
    need_package(options.target)
    thinker = Thinker.from_pretrained(source)
    plan_chunks(thinker, options)
    with TemporaryDirectory(dir=out.parent, prefix=".chunks-") as made:
        folder = Path(made) / "new"
        folder.mkdir()
        copy_beside(source, folder)
        manifest = write_chunks(thinker, folder, options)
        found = verify(Thinker.from_pretrained(source), folder, manifest)
        if out.exists():
            os.replace(out, Path(made) / "old")
        os.replace(folder, out)
    return manifest, found


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = Parser("python -m export.chunks", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--ckpt-dir", "--ckpt_dir", type=Path, default=SHIPPED, help="ours, or any dense Qwen3's")
    add("--target", choices=tuple(SUFFIXES), default="onnx", help="ONNX Runtime, or Core ML")
    add("--num-chunks", "--num_chunks", type=int, default=1, help="programs that the layers are cut into")
    add("--seq-len", "--seq_len", type=int, default=SEQ_LEN, help="positions that a call takes")
    add(
        "--max-context-length", "--max_context_length", type=int, metavar="TOKENS",
        help="room of the KV states; default: the model's, up to 2048",
    )
    add("--export-embeddings", "--export_embeddings", action="store_true", help="write embeddings.npy, fp16")
    add("--export-lm-head", "--export_lm_head", action="store_true", help="write lm_head")
    add(
        "--analyze-compute-plan", "--analyze_compute_plan", action="store_true",
        help="print what runs where, after writing",
    )
    add("--out", type=Path, required=True, metavar="DIR", help="a new folder, or one of chunks")
    args = parser.parse_args(argv)
    options = Options(
        args.target, args.num_chunks, args.seq_len, args.max_context_length,
        args.export_embeddings, args.export_lm_head,
    )
    manifest, found = run(args.ckpt_dir, args.out, options)
    size = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    remark(f"wrote {args.out}: {manifest.num_chunks} chunks of {manifest.seq_len} positions, "
           f"context {manifest.max_context_length}, {size / 1e6:.1f} MB; {found}")
    if args.analyze_compute_plan:
        print(compute_plan(args.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
