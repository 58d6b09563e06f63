"""Every way of storing the Thinker: size of the file, bits per byte of text, decoding speed."""

import math
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.contestants import interleaved, settings, text_ids
from data.dialogue.conversation import sample_conversation
from export.gguf import export_to_gguf
from inference.generation import generate_batch, thinker_of
from inference.merge import load_quantized, quantize_full_model
from inference.omni import Omni
from inference.prompt import Prompt
from inference.quantised import METHODS
from models.errors import UserError
from models.thinker import Thinker

CONVERSATIONS = 60
GGUF = ("f16", "q8_0", "q4_0", "q4_k_m")


def bench_quantise(omni: Omni, rounds: int, tokens: int) -> dict:
    """Each method's file is written, loaded again, and measured; all decode in PyTorch.

    Bits per byte are of held-out conversations; the ratio is of speed, to fp32's. A method whose
    library is missing is told in one line. GGUF files are for llama.cpp: only their sizes are told.
    """
    base = thinker_of(omni.model)
    prompt, held_out = Prompt(text_ids(omni, 32)), conversations(omni)
    loaded: dict[str, Thinker] = {}
    table: dict[str, dict] = {}
    with TemporaryDirectory() as folder:
        for method in METHODS:
            path = Path(folder) / f"{method}.safetensors"
            try:
                quantize_full_model(base, method, path)
                loaded[method] = load_quantized(path)
            except UserError as error:
                print(f"notice: {method} is left out: {error}", file=sys.stderr)
                continue
            table[method] = {"file_megabytes": path.stat().st_size / 1e6}
            table[method]["bits_per_byte"] = bits_per_byte(loaded[method], held_out)
        for kind in GGUF:
            try:
                path = export_to_gguf(omni, Path(folder) / f"{kind}.gguf", kind)
            except UserError as error:
                print(f"notice: gguf {kind} is left out: {error}", file=sys.stderr)
                continue
            table[f"gguf {kind}"] = {"file_megabytes": path.stat().st_size / 1e6}
    config = settings(omni, tokens, native="off")
    runs = {
        name: lambda one=one: len(generate_batch(one, [prompt], config)[0])
        for name, one in loaded.items()
    }
    for name, row in interleaved(runs, rounds).items():
        table[name] |= row
    return table


def conversations(omni: Omni) -> list[tuple[Tensor, int]]:
    """Held-out conversations: ids (1, T), and bytes of their text."""
    rng = random.Random("quantisers")
    made = [sample_conversation(rng, "test")["messages"] for _ in range(CONVERSATIONS)]
    return [
        (
            torch.tensor([omni.tokenizer.encode_chat(messages, add_generation_prompt=False)]),
            sum(len(m["content"].encode()) for m in messages),
        )
        for messages in made
    ]


@torch.inference_mode()
def bits_per_byte(thinker: Thinker, held_out: list[tuple[Tensor, int]]) -> float:
    """Cross entropy in bits per byte of text."""
    nats = sum(
        float(F.cross_entropy(thinker(ids[:, :-1])[0].float(), ids[0, 1:], reduction="sum"))
        for ids, _ in held_out
    )
    return nats / math.log(2) / sum(size for _, size in held_out)
