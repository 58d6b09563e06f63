"""Every way of storing the Thinker: size of the file, bits per byte of text, decoding speed."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks.caches import WINDOW, bits, held_out, text_bits
from benchmarks.contestants import interleaved, settings, text_ids
from benchmarks.llama import SHORT, apart, llama_missing
from export.gguf import export_to_gguf
from export.llamacpp import LlamaCpp
from inference.generation import generate_batch
from inference.merge import load_quantized, quantize_full_model
from inference.omni import Omni
from inference.prompt import Prompt
from inference.quantised import METHODS
from models.errors import UserError
from models.omni import thinker_of

GGUF = ("f16", "q8_0", "q4_0", "q4_k_m")


def bench_quantise(omni: Omni, rounds: int, tokens: int) -> dict:
    """Each method's file is written, loaded again, and measured.

    Bits per byte are of held-out conversations; the ratio is of speed, to fp32's in PyTorch. A method
    whose library is missing is told in one line. GGUF files are read by llama.cpp where it is installed;
    elsewhere only their size is told.
    """
    prompt, config = Prompt(text_ids(omni, SHORT)), settings(omni, tokens, native="off")
    with TemporaryDirectory() as name, ExitStack() as opened:
        folder, table, runs = Path(name), {}, {}
        quantise = partial(quantize_full_model, thinker_of(omni.model))
        for method, path in written(METHODS, quantise, folder, "{}.safetensors"):
            one = load_quantized(path)
            table[method] = measured(path) | {"bits_per_byte": text_bits(one, omni.tokenizer)}
            runs[method] = lambda one=one: len(generate_batch(one, [prompt], config)[0])
        reads = not llama_missing("quantise")
        for kind, path in written(GGUF, lambda k, out: export_to_gguf(omni, out, k), folder, "{}.gguf"):
            table[f"gguf {kind}"] = measured(path)
            if reads:
                llama = opened.enter_context(LlamaCpp(path, max(WINDOW, SHORT + tokens)))
                table[f"gguf {kind}"]["bits_per_byte"] = apart(partial(llama_bits, llama, omni.tokenizer))()
                runs[f"gguf {kind}"] = apart(lambda llama=llama: len(llama.greedy(prompt.ids, tokens)))
        timed = interleaved(runs, rounds)
    return {name: row | timed.get(name, {}) for name, row in table.items()}


def written(
    kinds: Iterable[str], write: Callable[[str, Path], object], folder: Path, name: str
) -> Iterator[tuple[str, Path]]:
    """Each kind with its file; what cannot be written is told in one line."""
    for kind in kinds:
        path = folder / name.format(kind)
        try:
            write(kind, path)
        except UserError as error:
            print(f"notice: {kind} is left out: {error}", file=sys.stderr)
            continue
        yield kind, path


def measured(path: Path) -> dict[str, float]:
    """A file's size."""
    return {"file_megabytes": path.stat().st_size / 1e6}


def llama_bits(llama: LlamaCpp, tokenizer) -> float:
    """Bits per byte of held-out conversations, in llama.cpp."""
    rows = held_out(tokenizer)  # (B, WINDOW + 1)
    logits = np.stack([llama.logits(row) for row in rows[:, :-1].tolist()])  # (B, WINDOW, V)
    return bits(torch.from_numpy(logits), rows, tokenizer)
