"""Checking exported chunks: they are run beside the Thinker, or, for Core ML elsewhere, read.

The check is part of the export: a folder whose chunks compute something else is never written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from inference.chunked.coreml import STATES, core_ml
from inference.chunked.manifest import LM_HEAD, ChunkManifest
from inference.chunked.programs import open_program
from inference.chunked.thinker import ChunkedThinker
from models.errors import UserError
from models.thinker import Thinker

PIECES = 2.5  # of seq_len positions, in the prompt of the check: the last one is padded
TOLERANCE = {"onnx": 1e-3, "coreml": 5e-2}  # of the largest number, for fp32 and fp16


def verify(thinker: Thinker, folder: Path, manifest: ChunkManifest) -> str:
    """Run what was written beside the Thinker; without a runtime, check what the packages say.

    Raises:
        UserError: they do not fit each other.
    """
    if manifest.target == "coreml" and sys.platform != "darwin":
        check_packages(folder, manifest)
        return "specifications checked; not run, for Core ML runs on macOS only"
    worst = deviation(thinker, folder, manifest)
    if not worst < TOLERANCE[manifest.target]:
        raise UserError(f"the chunks differ from the model by {worst:.2g} of its largest number")
    return f"verified: largest difference {worst:.1g} of the model's largest number"


@torch.no_grad()
def deviation(thinker: Thinker, folder: Path, manifest: ChunkManifest) -> float:
    """The largest difference from the Thinker, as a share of its largest number."""
    count = min(int(PIECES * manifest.seq_len) + 1, manifest.max_context_length)
    ids = torch.randint(0, thinker.config.vocab_size, (1, count), generator=torch.Generator().manual_seed(0))
    x = thinker.embed(ids)
    chunks = [open_program(folder / manifest.file(f"chunk_{i}")) for i in range(manifest.num_chunks)]
    path = folder / manifest.file(LM_HEAD)
    head = open_program(path) if path.exists() else None
    table = thinker.model.embed_tokens.weight.detach()
    chunked = ChunkedThinker(manifest, table, chunks, head)
    right, found = thinker.hidden(x), chunked.hidden(x)  # (1, n, hidden) each
    worst = share(found, right)
    if head is not None:
        scores = thinker.logits(right).log_softmax(-1)  # (1, n, vocab)
        worst = max(worst, share(chunked.logits(right), scores))
    return worst


def share(found: torch.Tensor, right: torch.Tensor) -> float:
    """The largest difference, as a share of the largest number."""
    return float((found - right).abs().max() / right.abs().max())


def check_packages(folder: Path, manifest: ChunkManifest) -> None:
    """Refuse packages whose inputs, outputs or states are not those that the runner uses."""
    shape = 1, manifest.config.hidden_size, 1, manifest.seq_len
    for i in range(manifest.num_chunks):
        wanted = {"hidden_states": ("fp16", shape), "position": ("int32", (1,))}
        states = {name: ("fp16", manifest.state_shape(i)) for name in STATES}
        check_package(folder / manifest.file(f"chunk_{i}"), wanted, {"output": ("fp16", shape)}, states)
    path = folder / manifest.file(LM_HEAD)
    if path.exists():
        parts = 1, len(manifest.vocab_chunks), 1, manifest.seq_len
        outputs = {
            "logits": ("fp16", (1, manifest.config.vocab_size, 1, manifest.seq_len)),
            "chunk_logsumexp_stable": ("fp16", parts),
            "chunk_max": ("fp16", parts),
        }
        check_package(path, {"hidden_states": ("fp16", shape)}, outputs, {})


def check_package(path: Path, inputs: dict, outputs: dict, states: dict) -> None:
    """Refuse one package; each dict gives kind and shape by name."""
    description = core_ml().utils.load_spec(str(path)).description
    for kind, wanted, found in (
        ("inputs", inputs, described(description.input)),
        ("outputs", outputs, described(description.output)),
        ("states", states, described(description.state)),
    ):
        if found != wanted:
            raise UserError(f"{path.name} has {kind} {found}, not {wanted}: this coremltools will not do")


def described(features) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Kind and shape of each feature of a specification."""
    found = {}
    for feature in features:
        kind = feature.type
        array = kind.stateType.arrayType if kind.HasField("stateType") else kind.multiArrayType
        names = {array.FLOAT16: "fp16", array.FLOAT32: "fp32", array.INT32: "int32"}
        found[feature.name] = names.get(array.dataType, "?"), tuple(array.shape)
    return found
