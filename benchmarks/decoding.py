"""Decoding: beside `transformers`, with and without a cache, with and without speculation."""

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
from inference.loading import DTYPES
from inference.omni import Omni
from inference.prompt import Prompt


def bench_decode(omni: Omni, rounds: int, tokens: int) -> dict:
    """One row and eight: PyTorch and compiled, each dtype, against `transformers` on the same weights.

    Ratios are to the first contestant of the same number of rows, `transformers` in fp32.
    """
    prompt = Prompt(text_ids(omni, 32))
    omnis = load_dtypes(omni)
    table = {}
    for rows in (1, 8):
        contestants = {}
        for dtype in ("fp32", "bf16"):
            if their := transformers_model(omnis[dtype]):
                for kind in (None, "static") if dtype == "bf16" else (None,):
                    name = f"transformers {dtype}{' static' if kind else ''}, {rows}"
                    contestants[name] = theirs(their, prompt, rows, tokens, kind)
        contestants |= eager_and_compiled(omnis, prompt, rows, tokens, ("fp32", "bf16"), DTYPES)
        table |= interleaved(contestants, rounds)
    return table


def bench_uncached(omni: Omni, rounds: int, tokens: int) -> dict:
    """Decoding after 512 tokens by reading everything again for each, and through the cache."""
    prompt, few = Prompt(text_ids(omni, 512)), max(1, tokens // 8)
    cached = decoder(omni, prompt, settings(omni, few, native="off"))  # as the other reads
    return interleaved({"uncached": rereader(omni, prompt, few), "cached": cached}, rounds)

