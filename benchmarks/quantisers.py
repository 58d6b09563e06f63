"""Every way of storing the Thinker: size of the file, bits per byte of text, decoding speed."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.caches import text_bits
from benchmarks.contestants import interleaved, settings, text_ids
from export.gguf import export_to_gguf
from inference.generation import generate_batch
from inference.merge import load_quantized, quantize_full_model
from inference.omni import Omni
from inference.prompt import Prompt
from inference.quantised import METHODS
from models.errors import UserError
from models.omni import thinker_of
from models.thinker import Thinker

GGUF = ("f16", "q8_0", "q4_0", "q4_k_m")


def bench_quantise(omni: Omni, rounds: int, tokens: int) -> dict:
    """Each method's file is written, loaded again, and measured; all decode in PyTorch.

    Bits per byte are of held-out conversations; the ratio is of speed, to fp32's. A method whose
    library is missing is told in one line. GGUF files are for llama.cpp: only their sizes are told.
    """
    base = thinker_of(omni.model)
    prompt = Prompt(text_ids(omni, 32))
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
            table[method]["bits_per_byte"] = text_bits(loaded[method], omni.tokenizer)
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
