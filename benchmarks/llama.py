"""Beside llama.cpp, on GGUF files of the same weights."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.contestants import decoder, interleaved, ours, reader, settings, text_ids
from export.gguf import gguf_package, write_gguf
from export.llamacpp import LlamaCpp, library
from inference.omni import Omni
from inference.prompt import Prompt
from models.errors import UserError
from models.omni import thinker_of

PAIRS = {"f16": "bf16", "q8_0": "int8"}  # llama.cpp's matrices: ours of the same bytes
READ = 512  # tokens of the prompt that is timed
SHORT = 32  # tokens before those that are decoded one by one
START = 4  # and before those of several rows: reading them is timed, too
ROWS = 8
# llama.cpp sets up the processor's matrix unit (AMX) once in a thread and PyTorch resets it after use:
# on one thread, the next product of llama.cpp's is an illegal instruction. So it has its own.
THREAD = ThreadPoolExecutor(1)


def apart(run: Callable[[], int]) -> Callable[[], int]:
    """The same in llama.cpp's thread."""
    return lambda: THREAD.submit(run).result()


def llama_missing(bench: str) -> bool:
    """Whether llama.cpp or the writer of its files is not there; says so."""
    try:
        gguf_package(), library()
    except UserError as error:
        print(f"notice: {error} (the bench {bench} does without)", file=sys.stderr)
        return True
    return False


@contextmanager
def gguf_file(omni: Omni, kind: str) -> Iterator[Path]:
    """The Thinker of a checkpoint in a file of this type, gone afterwards."""
    exact = Omni.from_pretrained(omni.folder)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.gguf"
        write_gguf(thinker_of(exact.model), exact.tokenizer, path, kind, kind)
        yield path


def llama_rows(llama: LlamaCpp, ids: list[int], rows: int, tokens: int) -> Callable[[], int]:
    """Reads a prompt in so many rows and continues each; counts new tokens."""
    return apart(lambda: sum(map(len, llama.greedy_rows([ids] * rows, tokens))))


def bench_llama(omni: Omni, rounds: int, tokens: int) -> dict:
    """Reading, and decoding one row and eight, beside llama.cpp on the same weights, one thread each.

    Ratios are to llama.cpp with matrices of as many bytes.
    """
    if llama_missing("llama"):
        return {}
    table, threads = {}, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for kind, dtype in PAIRS.items():
            same = Omni.from_pretrained(omni.folder, dtype=dtype)
            with gguf_file(omni, kind) as path:
                with LlamaCpp(path, READ + tokens) as llama:
                    table |= one_row(llama, kind, same, dtype, rounds, tokens)
                with LlamaCpp(path, START + tokens, rows=ROWS) as llama:
                    table |= eight_rows(llama, kind, same, dtype, rounds, tokens)
    finally:
        torch.set_num_threads(threads)
    return table


def one_row(
    llama: LlamaCpp, kind: str, omni: Omni, dtype: str, rounds: int, tokens: int
) -> dict[str, dict]:
    """One file in llama.cpp and one dtype of ours: reading a prompt, then decoding after a short one."""
    long, short = text_ids(omni, READ), text_ids(omni, SHORT)
    reading = {
        f"llama.cpp {kind}, read": apart(lambda: len(long) * bool(llama.greedy(long, 1))),
        f"ours {dtype}, read": reader(omni, Prompt(long)),
    }
    table = interleaved(reading, rounds)
    last = len(short) - 1
    apart(lambda: llama.greedy(short[:last], 1))()
    theirs = apart(lambda: len(llama.greedy(short[last:], tokens, after=last)))
    decoding = {
        f"llama.cpp {kind}, decode": theirs,
        f"ours {dtype}, decode": decoder(omni, Prompt(short), settings(omni, tokens, native="on")),
    }
    return table | interleaved(decoding, rounds)


def eight_rows(
    llama: LlamaCpp, kind: str, omni: Omni, dtype: str, rounds: int, tokens: int
) -> dict[str, dict]:
    """The same file and dtype: eight rows at once, tokens of all rows together."""
    ids, config = text_ids(omni, START), settings(omni, tokens, native="on")
    contestants = {
        f"llama.cpp {kind}, decode {ROWS}": llama_rows(llama, ids, ROWS, tokens),
        f"ours {dtype}, decode {ROWS}": ours(omni, Prompt(ids), ROWS, config),
    }
    return interleaved(contestants, rounds)
