"""Reading a prompt up to its first new token, beside `transformers`."""

from benchmarks.contestants import (
    interleaved,
    load_dtypes,
    reader,
    text_ids,
    their_reader,
    transformers_model,
)
from inference.omni import Omni
from inference.prompt import Prompt

LENGTHS = (128, 512)  # tokens of the prompts


def bench_prefill(omni: Omni, rounds: int, tokens: int) -> dict:
    """Tokens read a second; ratios are to `transformers` in fp32 with a prompt as long."""
    omnis = load_dtypes(omni)
    table = {}
    for length in LENGTHS:
        prompt, contestants = Prompt(text_ids(omni, length)), {}
        for dtype in ("fp32", "bf16"):
            if their := transformers_model(omnis[dtype]):
                contestants[f"transformers {dtype}, {length}"] = their_reader(their, prompt)
        for dtype, same in omnis.items():
            contestants[f"ours {dtype}, {length}"] = reader(same, prompt)
        table |= interleaved(contestants, rounds)
    return table
