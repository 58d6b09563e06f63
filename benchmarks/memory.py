"""The most memory that each contestant holds, in a process of its own that does nothing else.

`python -m benchmarks.memory CONTESTANT KIND PATH TOKENS` is such a process. Every one loads the
Thinker alone, reads READ tokens and decodes some more. Read from /proc: Linux only.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from models.errors import UserError

STATUS = Path("/proc/self/status")
ROOT = Path(__file__).resolve().parent.parent
READ = 512  # tokens of the prompt
IDS = [7] * READ  # any token: only their number counts
LIBRARIES = {  # what a contestant imports before it loads weights
    "transformers": ("torch", "transformers.models.qwen3.modeling_qwen3"),
    "eager": ("inference.omni",),
    "compiled": ("inference.omni", "inference.native.step"),
    "llama.cpp": ("export.llamacpp",),
}
KINDS = {  # and what it is measured with
    "transformers": ("fp32", "bf16"),
    "eager": ("fp32", "bf16"),
    "compiled": ("fp32", "bf16", "int8"),
    "llama.cpp": ("f16", "q8_0"),
}


def megabytes(field: str, status: Path = STATUS) -> float:
    """Of a process, 10⁶ bytes: VmRSS is what it holds, VmHWM the most it has held."""
    line = next(x for x in status.read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def use_transformers(kind: str, path: Path, tokens: int) -> None:
    """From a folder as `Thinker.save_pretrained` writes it."""
    import torch
    from transformers import Qwen3ForCausalLM

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[kind]
    model = Qwen3ForCausalLM.from_pretrained(path, dtype=dtype).eval()
    asked = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False}
    ids = torch.tensor([IDS])  # (1, READ)
    model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **asked)


def use_ours(native: str) -> Callable[[str, Path, int], None]:
    """From a checkpoint folder, of which only the Thinker is read."""

    def use(kind: str, path: Path, tokens: int) -> None:
        from inference.api import generate
        from inference.config import GenerateConfig
        from inference.loading import DTYPES
        from inference.prompt import Prompt
        from models.quantization import round_to_int8
        from models.thinker import Thinker

        thinker = Thinker.from_pretrained(path).to(DTYPES[kind]).eval()
        if kind == "int8":
            round_to_int8(thinker)
        config = GenerateConfig(max_new_tokens=tokens, eos_token_id=-1, native=native)
        generate(thinker, Prompt(IDS), config)

    return use


def use_llama(kind: str, path: Path, tokens: int) -> None:
    """From a GGUF file, which it maps into memory: what it reads of it counts."""
    from export.llamacpp import LlamaCpp

    with LlamaCpp(path, READ + tokens) as llama:
        llama.greedy(IDS, tokens)


USES = {
    "transformers": use_transformers,
    "eager": use_ours("off"),
    "compiled": use_ours("on"),
    "llama.cpp": use_llama,
}


def bench_memory(omni, rounds: int, tokens: int) -> dict:
    """Peak of each process, and how much of it came after the imports; ratios are of the peaks."""
    from benchmarks.contestants import transformers_missing
    from benchmarks.llama import gguf_file, llama_missing
    from inference.omni import Omni
    from models.omni import thinker_of

    if not STATUS.exists():
        print("notice: the bench memory is left out: there is no /proc here", file=sys.stderr)
        return {}
    left_out = {"transformers"} if transformers_missing() else set()
    left_out |= {"llama.cpp"} if llama_missing("memory") else set()
    runs = [(who, kind) for who in KINDS if who not in left_out for kind in KINDS[who]]
    seen: dict[tuple, list[dict]] = {}
    with TemporaryDirectory() as folder:
        thinker_of(Omni.from_pretrained(omni.folder).model).save_pretrained(folder)
        for who, kind in runs:
            plain = Path(folder) if who == "transformers" else omni.folder
            weights = gguf_file(omni, kind) if who == "llama.cpp" else nullcontext(plain)
            with weights as path:
                seen[who, kind] = [measure(who, kind, path, tokens) for _ in range(rounds)]
    table = {f"{who} {kind}": medians(found) for (who, kind), found in seen.items()}
    first = next(iter(table.values()))["megabytes"]
    return {name: row | {"ratio": row["megabytes"] / first} for name, row in table.items()}


def medians(found: list[dict]) -> dict:
    """Of each figure of several runs."""
    return {key: statistics.median(run[key] for run in found) for key in found[0]}


def measure(who: str, kind: str, path: Path, tokens: int) -> dict:
    """The figures of one process."""
    command = [sys.executable, "-m", "benchmarks.memory", who, kind, str(path.resolve())]
    done = subprocess.run([*command, str(tokens)], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UserError(f"the memory of {who} {kind} cannot be measured: {reason}")
    return json.loads(done.stdout.splitlines()[-1])


def main(who: str, kind: str, path: str, tokens: str) -> None:
    """Be a contestant, then print its figures."""
    for name in LIBRARIES[who]:
        import_module(name)
    before = megabytes("VmRSS")
    USES[who](kind, Path(path), int(tokens))
    peak = megabytes("VmHWM")
    print(json.dumps({"megabytes": peak, "grown_megabytes": peak - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
