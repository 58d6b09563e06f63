"""Who is timed against whom: ours and `transformers` on the same weights, taking turns."""

import statistics
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch

from inference.caching.probe import one_round
from inference.config import GenerateConfig
from inference.generation import PAD_TOKEN_ID, Generator, generate_batch, prefill
from inference.loading import DTYPES
from inference.omni import Omni
from inference.prompt import Prompt
from inference.runner import Runner
from models.omni import thinker_of

ROOT = Path(__file__).resolve().parent.parent
NO_END = -1  # an end token that never comes: every run has the same length
TEXT = ROOT / "docs" / "training.md"  # any text: only its length is used


def interleaved(contestants: dict[str, Callable[[], int]], rounds: int) -> dict[str, dict]:
    """Median tokens a second of each, and its ratio to the first. Each returns its tokens."""
    one_round(contestants)  # to warm up
    timed = [one_round(contestants) for _ in range(rounds)]
    speeds = {
        name: statistics.median(tokens / seconds for seconds, tokens in (one[name] for one in timed))
        for name in contestants
    }
    first = next(iter(speeds.values()))
    return {
        name: {"tokens_per_second": speed, "ratio": speed / first} for name, speed in speeds.items()
    }


def settings(omni: Omni, tokens: int, **more) -> GenerateConfig:
    return omni.config(max_new_tokens=tokens, eos_token_id=NO_END, **more)


def text_ids(omni: Omni, length: int) -> list[int]:
    """The first tokens of a text, after bos, to time reading and writing."""
    return [omni.tokenizer.bos, *omni.tokenizer.encode(TEXT.read_text(encoding="utf-8"))][:length]


def load_dtypes(omni: Omni) -> dict[str, Omni]:
    """The same checkpoint in every dtype."""
    return {dtype: Omni.from_pretrained(omni.folder, dtype=dtype) for dtype in DTYPES}


def compiled(omni: Omni, config: GenerateConfig) -> None:
    """Wait for the compiler, so that no round is timed without its code."""
    thinker = thinker_of(omni.model)
    Runner(thinker, thinker.new_cache(1, 1), config, wait=True)


def decoder(omni: Omni, prompt: Prompt, config: GenerateConfig) -> Callable[[], int]:
    """Decodes after a prompt that stays read, so that only new tokens are timed; counts them."""
    compiled(omni, config)
    generator = Generator(omni.model, config)
    generator.generate(prompt)

    def run() -> int:
        generator.cache.truncate(len(prompt) - 1)
        generator.ids = generator.ids[: len(prompt) - 1]
        return len(generator.generate(Prompt(prompt.ids[-1:])))

    return run


def rereader(omni: Omni, prompt: Prompt, tokens: int) -> Callable[[], int]:
    """Decodes without a cache: everything is read again for each token."""

    def run() -> int:
        grown, thinker = list(prompt.ids), thinker_of(omni.model)
        for _ in range(tokens):
            fresh = thinker.new_cache(1, len(grown))
            grown.append(int(prefill(omni.model, [Prompt(grown)], Runner(thinker, fresh)).argmax()))
        return tokens

    return run


def reader(omni: Omni, prompt: Prompt, native: str = "auto") -> Callable[[], int]:
    """Reads a prompt and chooses the first token; counts those of the prompt."""
    config = settings(omni, 1, native=native)
    compiled(omni, config)
    generator = Generator(omni.model, config)

    def run() -> int:
        generator.reset()
        generator.generate(prompt)
        return len(prompt)

    return run


def ours(omni: Omni, prompt: Prompt, rows: int, config: GenerateConfig) -> Callable[[], int]:
    """Reads a prompt in so many rows and continues each; counts new tokens."""
    return lambda: sum(map(len, generate_batch(omni.model, [prompt] * rows, config)))


def eager_and_compiled(
    omnis: dict[str, Omni],
    prompt: Prompt,
    rows: int,
    tokens: int,
    eager: Iterable[str],
    compiled: Iterable[str],
) -> dict[str, Callable[[], int]]:
    """`ours` in PyTorch in some dtypes and compiled in others, by the names that tables show."""
    return {
        f"{name} {dtype}, {rows}": ours(
            omnis[dtype], prompt, rows, settings(omnis[dtype], tokens, native=native)
        )
        for name, native, dtypes in (("eager", "off", eager), ("compiled", "on", compiled))
        for dtype in dtypes
    }


def theirs(model, prompt: Prompt, rows: int, tokens: int, cache: str | None = None) -> Callable:
    """The same by `transformers`. Its cache grows, unless it is `static`, made for all tokens at once."""
    ids = torch.tensor([prompt.ids] * rows)  # (B, S)
    asked = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False}
    asked |= {"attention_mask": torch.ones_like(ids), "cache_implementation": cache}

    def run() -> int:
        out = model.generate(ids, pad_token_id=PAD_TOKEN_ID, **asked)
        return rows * (out.shape[1] - ids.shape[1])

    return run


def their_reader(model, prompt: Prompt) -> Callable[[], int]:
    """Reads a prompt and chooses the first token, by `transformers`; counts those of the prompt."""
    run = theirs(model, prompt, 1, 1)
    return lambda: run() * len(prompt)


@cache
def transformers_missing() -> bool:
    """Whether `transformers` is not installed; says so once."""
    missing = find_spec("transformers") is None
    if missing:
        print("notice: transformers is not installed: ours is measured alone", file=sys.stderr)
    return missing


def transformers_model(omni: Omni):
    """The same Thinker in `transformers`, or None where that is not installed."""
    if transformers_missing():
        return None
    from transformers import Qwen3Config, Qwen3ForCausalLM

    thinker = thinker_of(omni.model)
    values = thinker.config.to_hugging_face()
    values["dtype"] = str(next(thinker.parameters()).dtype).removeprefix("torch.")
    model = Qwen3ForCausalLM(Qwen3Config(**values)).to(next(thinker.parameters()).dtype)
    model.load_state_dict(thinker.state_dict(), strict=False)  # the tied head is theirs alone
    return model.eval()
