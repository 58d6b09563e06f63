"""Speed and memory on this machine, side by side: every figure as a median and as a ratio.

    python benchmark.py cache decode uncached speculative --out build/benchmark.json
    python benchmark.py cache --results docs/results.json     # and its table: evaluate.py tables

Contestants take turns, so that a busy moment of the machine meets all of them. Quality belongs to
evaluate.py, except what a cache kind costs in bits per byte, which means nothing without its bytes.
"""

import argparse
import math
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import torch

from data.conversation import sample_conversation
from evaluation.results import Figure, save_section
from evaluation.setting import weights_hash
from evaluation.speeds import save_speeds
from inference.config import GenerateConfig
from inference.generation import (
    PAD_TOKEN_ID,
    Generator,
    find_native,
    generate_batch,
    prefill,
    thinker_of,
)
from inference.omni import DTYPES, Omni
from inference.probe import take_turns
from inference.prompt import Prompt
from models.cachekind import KVCacheKind
from models.checkpoint import write_json
from models.errors import UserError, one_line_errors

NO_END = -1  # an end token that never comes: every run has the same length
TEXT = Path(__file__).parent / "docs" / "training.md"  # any text: only its length is used
WINDOW = 256  # tokens the Thinker is trained on at once: further back it reads worse, cache or none
HELD_OUT = 16  # windows of conversations whose wordings never occur in training


def interleaved(contestants: dict[str, Callable[[], int]], rounds: int) -> dict[str, dict]:
    """Median tokens a second of each, and its ratio to the first. Each returns its tokens."""
    speeds = {
        name: statistics.median(tokens / seconds for seconds, tokens in seen)
        for name, seen in take_turns(contestants, rounds).items()
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


def held_out(omni: Omni) -> torch.Tensor:
    """Conversations of the test split, in the chat template. (HELD_OUT, WINDOW + 1)

    A loss is only worth a percentage of a figure that the model is good at: a page of our own
    documentation costs it five bits a byte whatever the cache.
    """
    rng, ids = random.Random("benchmark"), []
    while len(ids) < HELD_OUT * WINDOW + 1:
        messages = sample_conversation(rng, "test")["messages"]
        ids += omni.tokenizer.encode_chat(messages, add_generation_prompt=False)
    rows = [ids[i * WINDOW : (i + 1) * WINDOW + 1] for i in range(HELD_OUT)]
    return torch.tensor(rows)


def decoder(omni: Omni, prompt: Prompt, config: GenerateConfig) -> Callable[[], int]:
    """Decodes after a prompt that stays read, so that only new tokens are timed; counts them."""
    generator = Generator(omni.model, config)
    generator.generate(prompt)

    def run() -> int:
        generator.cache.truncate(len(prompt) - 1)
        generator.ids = generator.ids[: len(prompt) - 1]
        return len(generator.generate(Prompt(prompt.ids[-1:])))

    return run


@torch.inference_mode()
def text_bits(omni: Omni, rows: torch.Tensor, kind: str, chunk: int = 32) -> float:
    """Bits per byte of texts (B, S + 1) that are read through a cache of this kind."""
    thinker = thinker_of(omni.model)
    cache = thinker.new_cache(rows.shape[0], rows.shape[1], kind)
    nats = 0.0
    for ids, targets in zip(rows[:, :-1].split(chunk, 1), rows[:, 1:].split(chunk, 1)):
        logits = thinker(input_ids=ids, cache=cache).float()  # (B, chunk, V)
        nats += float(
            torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), targets.flatten(), reduction="sum"
            )
        )
    size = sum(len(omni.tokenizer.decode(row).encode()) for row in rows[:, 1:].tolist())
    return nats / math.log(2) / size


def bench_cache(omni: Omni, rounds: int, tokens: int) -> dict:
    """Bytes, loss and speed of each cache kind."""
    thinker = thinker_of(omni.model)
    limit = thinker.config.max_position_embeddings
    prompt = Prompt(text_ids(omni, limit - tokens))  # so that decoding is near a full context
    rows = held_out(omni)
    kinds = [*map(str, KVCacheKind), "q8_0/nf4"]
    configs = {kind: settings(omni, tokens, cache_kind=kind) for kind in kinds}
    contestants = {kind: decoder(omni, prompt, config) for kind, config in configs.items()}
    table = interleaved(contestants, rounds)
    for kind, row in table.items():
        layers = thinker.config.num_hidden_layers
        row["bytes_per_token_per_layer"] = thinker.config.cache_bytes(kind) // layers
        row["bits_per_byte"] = text_bits(omni, rows, kind)
        row["loss_percent"] = 100 * (row["bits_per_byte"] / table["fp32"]["bits_per_byte"] - 1)
    return table


def bench_decode(omni: Omni, rounds: int, tokens: int) -> dict:
    """One row and eight: PyTorch and compiled, each dtype, against `transformers` on the same weights.

    Ratios are to the first contestant of the same number of rows, `transformers` in fp32.
    """
    prompt = Prompt(text_ids(omni, 32))
    omnis = {dtype: Omni.from_pretrained(omni.folder, dtype=dtype) for dtype in DTYPES}
    table = {}
    for rows in (1, 8):
        contestants = {}
        for dtype in ("fp32", "bf16"):
            if their := transformers_model(omnis[dtype]):
                contestants[f"transformers {dtype}, {rows}"] = theirs(their, prompt, rows, tokens)
        for native, dtypes in ("off", ("fp32", "bf16")), ("on", DTYPES):
            for dtype in dtypes:
                config = settings(omni, tokens, native=native)
                name = f"{'compiled' if native == 'on' else 'eager'} {dtype}, {rows}"
                contestants[name] = ours(omnis[dtype], prompt, rows, config)
        table |= interleaved(contestants, rounds)
    return table


def ours(omni: Omni, prompt: Prompt, rows: int, config: GenerateConfig) -> Callable[[], int]:
    return lambda: sum(map(len, generate_batch(omni.model, [prompt] * rows, config)))


def theirs(model, prompt: Prompt, rows: int, tokens: int) -> Callable[[], int]:
    ids = torch.tensor([prompt.ids] * rows)  # (B, S)
    asked = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False}
    mask = torch.ones_like(ids)

    def run() -> int:
        out = model.generate(ids, attention_mask=mask, pad_token_id=PAD_TOKEN_ID, **asked)
        return rows * (out.shape[1] - ids.shape[1])

    return run


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


LLAMA_PAIRS = {"f16": "bf16", "q8_0": "int8"}  # llama.cpp's matrices: ours of the same bytes
READ = 512  # tokens of the prompt that is timed


def bench_llama(omni: Omni, rounds: int, tokens: int) -> dict:
    """Reading and decoding at batch 1 beside llama.cpp on the same weights, one thread each.

    Ratios are to llama.cpp with matrices of as many bytes.
    """
    from export.gguf import gguf_package, write_gguf
    from export.llamacpp import LlamaCpp, library

    try:
        gguf_package(), library()
    except UserError as error:
        print(f"notice: {error} (the bench llama is left out)", file=sys.stderr)
        return {}
    exact, table, threads = Omni.from_pretrained(omni.folder), {}, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for kind, dtype in LLAMA_PAIRS.items():
            with TemporaryDirectory() as folder:
                path = Path(folder) / f"{kind}.gguf"
                write_gguf(thinker_of(exact.model), exact.tokenizer, path, kind, kind)
                with LlamaCpp(path, READ + tokens) as llama:
                    same = Omni.from_pretrained(omni.folder, dtype=dtype)
                    table |= beside_llama(llama, kind, same, dtype, rounds, tokens)
    finally:
        torch.set_num_threads(threads)
    return table


def beside_llama(llama, kind: str, omni: Omni, dtype: str, rounds: int, tokens: int) -> dict:
    """One file in llama.cpp and one dtype of ours: reading a prompt, then decoding after a short one."""
    long, short = text_ids(omni, READ), text_ids(omni, 32)
    thinker = thinker_of(omni.model)
    cache = thinker.new_cache(1, READ)
    native = find_native(thinker, cache, settings(omni, tokens, native="on"))

    def read() -> int:
        cache.reset()
        prefill(omni.model, [Prompt(long)], cache, native=native)
        return len(long)

    reading = {
        f"llama.cpp {kind}, read": lambda: len(long) * bool(llama.greedy(long, 1)),
        f"ours {dtype}, read": read,
    }
    table = interleaved(reading, rounds)
    last = len(short) - 1
    llama.greedy(short[:last], 1)
    decoding = {
        f"llama.cpp {kind}, decode": lambda: len(llama.greedy(short[last:], tokens, after=last)),
        f"ours {dtype}, decode": decoder(omni, Prompt(short), settings(omni, tokens, native="on")),
    }
    return table | interleaved(decoding, rounds)


LOAD = """import torch, sys
from pathlib import Path
from safetensors.torch import load_file
for path in Path(sys.argv[1]).glob("*.safetensors"):
    load_file(path)
print("ready")"""


def bench_start(omni: Omni, rounds: int, tokens: int) -> dict:
    """Seconds from nothing to the first character: importing torch and reading weights, and a chat."""
    chat = [str(Path(__file__).parent / "infer_chat.py"), "--text", "hi", "--quiet", "--ckpt_dir"]
    commands = {"torch + weights": ["-c", LOAD], "infer_chat.py": chat}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, arguments in commands.items():
            seconds[name].append(first_output([*arguments, str(omni.folder)]))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    first = medians["torch + weights"]
    return {name: {"seconds": value, "ratio": value / first} for name, value in medians.items()}


def first_output(arguments: list[str]) -> float:
    """Seconds until a Python with these arguments writes its first byte."""
    start = perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        seconds = perf_counter() - start
        process.communicate()
    return seconds


def bench_uncached(omni: Omni, rounds: int, tokens: int) -> dict:
    """Decoding after 512 tokens by reading everything again for each, and through the cache."""
    prompt = Prompt(text_ids(omni, 512))
    few = max(1, tokens // 8)

    def again() -> int:
        grown = list(prompt.ids)
        for _ in range(few):
            fresh = thinker_of(omni.model).new_cache(1, len(grown))
            grown.append(int(prefill(omni.model, [Prompt(grown)], fresh).argmax()))
        return few

    cached = decoder(omni, prompt, settings(omni, few))
    return interleaved({"uncached": again, "cached": cached}, rounds)


def bench_speculative(omni: Omni, rounds: int, tokens: int) -> dict:
    """Greedy answers that repeat their question, with and without prompt lookup."""
    from inference.draft import PromptLookup
    from inference.speculative import SpeculativeGenerator

    prompt = omni.turn("Repeat after me: the small red fox and the big blue whale met at the lake.")
    config = omni.config(max_new_tokens=tokens)
    plain = Generator(omni.model, config)
    quick = SpeculativeGenerator(omni.model, PromptLookup(), config=config)

    def run(generator: Generator) -> int:
        generator.reset()
        return len(generator.generate(prompt)) + 1

    table = interleaved({"plain": lambda: run(plain), "lookup": lambda: run(quick)}, rounds)
    table["lookup"] |= {"acceptance_rate": quick.acceptance_rate, "passes": quick.passes}
    table["lookup"]["same_tokens"] = plain.ids == quick.ids
    return table


def save_caches(path: Path, omni: Omni, table: dict[str, dict]) -> None:
    """What cache kinds cost, as section `caches` of a results file."""
    units = {
        "bytes_per_token_per_layer": "count",
        "bits_per_byte": "bits/byte",
        "loss_percent": "percent",
        "ratio": "ratio",
    }
    figures = {
        f"{kind}/{name}": Figure(row[name], None, None, HELD_OUT * WINDOW, 0, unit)
        for kind, row in table.items()
        for name, unit in units.items()
    }
    about = {"weights": {omni.folder.name: weights_hash(omni.folder)}}
    save_section(path, "caches", about, figures)


BENCHES = {
    "cache": bench_cache,
    "decode": bench_decode,
    "llama": bench_llama,
    "uncached": bench_uncached,
    "speculative": bench_speculative,
    "start": bench_start,
}


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code."""
    parser = argparse.ArgumentParser("benchmark.py", description=__doc__)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"default: {' '.join(BENCHES)}")
    parser.add_argument("--ckpt_dir", help="default: the shipped omni checkpoint")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "int8"], default="fp32")
    parser.add_argument("--rounds", type=int, default=5, help="the median counts")
    parser.add_argument("--tokens", type=int, default=64, help="decoded in each run")
    parser.add_argument("--out", type=Path, help="JSON; default: only print")
    parser.add_argument("--results", type=Path, help="results.json to renew")
    args = parser.parse_args(argv)
    if unknown := set(args.what) - set(BENCHES):
        raise UserError(f"unknown {', '.join(sorted(unknown))}: there are {', '.join(BENCHES)}")
    if min(args.rounds, args.tokens) < 1:
        raise UserError("--rounds and --tokens must be at least 1")
    omni = Omni.from_pretrained(args.ckpt_dir, dtype=args.dtype)
    results = {"threads": torch.get_num_threads(), "dtype": args.dtype}
    results |= {"rounds": args.rounds, "tokens": args.tokens}
    for name in args.what or BENCHES:
        results[name] = BENCHES[name](omni, args.rounds, args.tokens)
        for row, figures in results[name].items():
            shown = [f"{k} {v:.4g}" for k, v in figures.items()]
            print(f"{name:12} {row:22} {', '.join(shown)}", flush=True)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        write_json(args.out, results)
    if args.results:
        if "cache" in results:
            save_caches(args.results, omni, results["cache"])
        save_speeds(args.results, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
