"""How cost grows: a token's with the length of the context, the throughput with rows at once."""

from contextlib import ExitStack

import torch

from benchmarks.contestants import (
    decoder,
    eager_and_compiled,
    interleaved,
    load_dtypes,
    rereader,
    settings,
    text_ids,
    theirs,
    transformers_model,
)
from benchmarks.llama import PAIRS, START, gguf_file, llama_missing, llama_rows
from export.llamacpp import LlamaCpp
from inference.omni import Omni
from inference.prompt import Prompt
from models.omni import thinker_of

CONTEXTS = (16, 64, 128, 256, 512, 960)  # tokens before those that are timed
SIZES = (1, 2, 4, 8)  # rows at once


def bench_context(omni: Omni, rounds: int, tokens: int) -> dict:
    """Decoding after contexts of each length: without a cache, with one, and that in compiled code.

    Ratios are to decoding without a cache, which reads the context again for every token.
    """
    limit = thinker_of(omni.model).config.max_position_embeddings
    table = {}
    for length in CONTEXTS:
        new = min(tokens, limit - length)  # what is decoded must fit behind the context
        if new < 1:
            continue
        prompt = Prompt(text_ids(omni, length))
        contestants = {
            f"no cache, {length}": rereader(omni, prompt, max(1, new // 16)),
            f"eager, {length}": decoder(omni, prompt, settings(omni, new, native="off")),
            f"compiled, {length}": decoder(omni, prompt, settings(omni, new, native="on")),
        }
        table |= interleaved(contestants, rounds)
    return table


def bench_batch(omni: Omni, rounds: int, tokens: int) -> dict:
    """Tokens a second of all rows together, as many threads for each contestant.

    Ratios are to the first contestant with as many rows.
    """
    prompt, omnis, table = Prompt(text_ids(omni, START)), load_dtypes(omni), {}
    their, threads = transformers_model(omnis["fp32"]), torch.get_num_threads()
    kinds = [] if llama_missing("batch") else list(PAIRS)
    with ExitStack() as stack:
        files = {kind: stack.enter_context(gguf_file(omni, kind)) for kind in kinds}
        for rows in SIZES:
            contestants = {}
            if their:
                contestants[f"transformers fp32, {rows}"] = theirs(their, prompt, rows, tokens)
            contestants |= eager_and_compiled(
                omnis, prompt, rows, tokens, ("fp32",), ("bf16", "int8")
            )
            with ExitStack() as opened:
                for kind, path in files.items():
                    llama = opened.enter_context(LlamaCpp(path, START + tokens, threads, rows))
                    run = llama_rows(llama, prompt.ids, rows, tokens)
                    contestants[f"llama.cpp {kind}, {rows}"] = run
                table |= interleaved(contestants, rounds)
    return table
