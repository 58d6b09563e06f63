"""What options cost beside plain compiled decoding: plans, caches, automatic choices, many requests."""

from collections.abc import Callable

from benchmarks.contestants import NO_END, decoder, interleaved, settings, text_ids
from inference.omni import Omni
from inference.prompt import Prompt
from models.omni import thinker_of

OPTIONS = {  # the first is what the others are compared with
    "plain": {},
    "decode_plan auto": {"decode_plan": "auto"},
    "decode_plan fixed": {"decode_plan": "fixed"},
    "window 256": {"decode_plan": "fixed", "decode_local_window": 256},
    "cache_kind auto": {"cache_kind": "auto"},
    "cache_kind fp16": {"cache_kind": "fp16"},
    "cache_kind q8_0": {"cache_kind": "q8_0"},
    "cache_kind q4_0": {"cache_kind": "q4_0"},
}
REQUESTS = (8, 20)  # in one call of Omni.batch, which takes eight at a time
QUESTION = {"text": "What is a dog?"}


def bench_plans(omni: Omni, rounds: int, tokens: int) -> dict:
    """Decoding in the second half of the context under each option, then many requests in a batch.

    Ratios are to plain compiled decoding of one row, and of eight requests.
    """
    limit = thinker_of(omni.model).config.max_position_embeddings
    prompt = Prompt(text_ids(omni, limit // 2))
    configs = {name: settings(omni, tokens, **given) for name, given in OPTIONS.items()}
    table = interleaved({n: decoder(omni, prompt, c) for n, c in configs.items()}, rounds)
    batches = {f"batch of {count}": batch(omni, count, tokens) for count in REQUESTS}
    return table | interleaved(batches, rounds)


def batch(omni: Omni, count: int, tokens: int) -> Callable[[], int]:
    """Answers so many requests together; counts the tokens of all answers."""

    def run() -> int:
        omni.batch([QUESTION] * count, max_new_tokens=tokens, eos_token_id=NO_END)
        return count * tokens

    return run
