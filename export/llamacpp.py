"""llama.cpp by its C functions, to compare: its tokens and its speed on a GGUF of the same weights.

    pip install xllamacpp     # a wheel with llama.cpp in it; nothing is compiled

MUOMNI_LLAMA_CPP names another build, its `libllama.so`. Only what comparing needs is here; nothing of
ours uses it to answer.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int8, c_int32, c_uint32, c_void_p, pointer
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from models.errors import UserError

INSTALL = "pip install xllamacpp"
FILE_KINDS = {"q4_k_m": 15, "q5_k_m": 17, "q6_k": 18}  # llama.cpp's numbers of them


class Opaque(ctypes.Structure):
    """Any of llama.cpp's structures by value: more bytes than it has, so that it may grow.

    Those are too large for registers, so that caller and callee only agree where they begin. Of the
    parameters of a context the first four numbers are ours to set: n_ctx, n_batch, n_ubatch, n_seq_max;
    of those of quantising the first two: threads, kind.
    """

    _fields_ = [("first", c_uint32 * 4), ("rest", c_uint32 * 124)]


class Batch(ctypes.Structure):
    """Tokens to be run at once: their places, the rows they belong to, and whose logits are wanted."""

    _fields_ = [
        *(("count", c_int32), ("tokens", POINTER(c_int32)), ("embeddings", c_void_p)),
        *(("places", POINTER(c_int32)), ("row_counts", POINTER(c_int32))),
        *(("rows", POINTER(POINTER(c_int32))), ("wanted", POINTER(c_int8))),
    ]


SIGNATURES = {  # C function: what it returns, what it takes
    "llama_backend_init": (None,),
    "llama_model_default_params": (Opaque,),
    "llama_model_load_from_file": (c_void_p, c_char_p, Opaque),
    "llama_model_get_vocab": (c_void_p, c_void_p),
    "llama_model_free": (None, c_void_p),
    "llama_vocab_n_tokens": (c_int32, c_void_p),
    "llama_vocab_eos": (c_int32, c_void_p),
    "llama_context_default_params": (Opaque,),
    "llama_init_from_model": (c_void_p, c_void_p, Opaque),
    "llama_free": (None, c_void_p),
    "llama_n_ctx": (c_uint32, c_void_p),
    "llama_set_n_threads": (None, c_void_p, c_int32, c_int32),
    "llama_get_memory": (c_void_p, c_void_p),
    "llama_memory_seq_rm": (c_bool, c_void_p, c_int32, c_int32, c_int32),
    "llama_decode": (c_int32, c_void_p, Batch),
    "llama_get_logits": (c_void_p, c_void_p),
    "llama_tokenize": (
        *(c_int32, c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32),
        *(c_bool, c_bool),
    ),
}
QUIET = ctypes.CFUNCTYPE(None, c_int32, c_char_p, c_void_p)(lambda level, text, data: None)


def library_path() -> Path | None:
    """Where a build of llama.cpp is, or None."""
    if chosen := os.environ.get("MUOMNI_LLAMA_CPP"):
        return Path(chosen)
    spec = find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("xllamacpp*.so"))), None)


def quantise_file(source: Path, out: Path, kind: str, build: str | Path | None = None) -> None:
    """Quantise a GGUF file by llama.cpp: its program `llama-quantize`, or the same in its library.

    Args:
        kind: its name of the target, such as q4_k_m.
        build: the program, or a folder that holds it; default: the one on the PATH, else the library.
    """
    program = shutil.which("llama-quantize") if build is None else quantiser_in(Path(build))
    if program is None and build is None and library_path() is not None:
        quantise_by_library(source, out, kind)
        return
    if program is None:
        where = "on the PATH" if build is None else f"in {build}"
        raise UserError(
            f"{kind} needs llama.cpp's quantiser, and there is no llama-quantize {where}: name its folder, "
            "or a libllama.so by MUOMNI_LLAMA_CPP"
        )
    done = subprocess.run([str(program), source, out, kind], capture_output=True, text=True)
    if done.returncode or not out.is_file():
        reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise UserError(f"llama-quantize failed: {reason}")


def quantise_by_library(source: Path, out: Path, kind: str) -> None:
    """The function that `llama-quantize` calls, on one thread; not every build has it."""
    lib = library()
    try:
        quantise, defaults = lib.llama_model_quantize, lib.llama_model_quantize_default_params
    except AttributeError:
        raise UserError(f"{library_path()} has no quantiser: {kind} needs llama-quantize") from None
    quantise.restype, quantise.argtypes = c_uint32, [c_char_p, c_char_p, POINTER(Opaque)]
    defaults.restype = Opaque
    params = defaults()
    params.first[0], params.first[1] = 1, FILE_KINDS[kind]
    if quantise(os.fsencode(source), os.fsencode(out), ctypes.byref(params)):
        raise UserError(f"llama.cpp could not quantise to {kind}")


def quantiser_in(build: Path) -> Path | None:
    """The program in a folder of llama.cpp, or the path itself."""
    if build.is_file():
        return build
    return next(iter(sorted(build.rglob("llama-quantize"))), None)


@cache
def library() -> ctypes.CDLL:
    """llama.cpp, loaded once.

    Raises:
        UserError: there is none, or it is not llama.cpp.
    """
    path = library_path()
    if path is None:
        raise UserError(f"llama.cpp is not installed: {INSTALL}")
    try:
        opened = ctypes.CDLL(str(path))
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(opened, name)
            function.restype, function.argtypes = result, arguments
        opened.llama_log_set.argtypes = [c_void_p, c_void_p]
        opened.llama_log_set(QUIET, None)
        opened.ggml_backend_dev_count.restype = ctypes.c_size_t
    except (OSError, AttributeError) as error:
        raise UserError(f"{path} does not serve as llama.cpp: {error}") from None
    opened.llama_backend_init()
    if not opened.ggml_backend_dev_count():  # a build with a library for each kind of processor
        opened.ggml_backend_load_all_from_path(str(path.parent).encode())
    return opened


class LlamaCpp:
    """A GGUF file opened by llama.cpp, with a context of one sequence or of several rows."""

    def __init__(self, path: Path, context: int = 1024, threads: int = 1, rows: int = 1) -> None:
        """`context` is in tokens of each row; prompts of that length are read in one pass.

        Raises:
            UserError: no llama.cpp, or it cannot open the file.
        """
        self.lib = library()
        self.model = self.context = None
        self.model = self.lib.llama_model_load_from_file(
            str(path).encode(), self.lib.llama_model_default_params()
        )
        if not self.model:
            raise UserError(f"llama.cpp cannot read {path}")
        params = self.lib.llama_context_default_params()
        params.first[:] = [context * rows] * 3 + [rows]
        self.context = self.lib.llama_init_from_model(self.model, params)
        if not self.context or self.lib.llama_n_ctx(self.context) < context * rows:
            raise UserError(f"llama.cpp makes no context of {context} tokens for {path}")
        self.lib.llama_set_n_threads(self.context, threads, threads)
        self.vocab = self.lib.llama_model_get_vocab(self.model)
        self.row = c_float * self.lib.llama_vocab_n_tokens(self.vocab)  # logits (V,)
        self.eos = self.lib.llama_vocab_eos(self.vocab)

    def tokenize(self, text: str, symbols: bool = False) -> list[int]:
        """Ids of a text; with `symbols`, names of control pieces become these."""
        data = text.encode()
        room = len(data) + 8  # no piece is shorter than a byte
        ids = (c_int32 * room)()
        count = self.lib.llama_tokenize(self.vocab, data, len(data), ids, room, False, symbols)
        return ids[:count]

    def read(self, ids: list[int]) -> int:
        """Read more tokens; the likeliest next one."""
        tokens = (c_int32 * len(ids))(*ids)  # the batch only points to them
        return self._run(Batch(len(ids), tokens), 1)[0]

    def read_rows(self, rows: list[list[int]], start: int) -> list[int]:
        """Read more tokens of each row, from place `start` of it on; the likeliest next ones."""
        flat = [(row, i, ids) for row, ids in enumerate(rows) for i in range(len(ids))]
        numbers, numerals = c_int32 * len(flat), [c_int32(row) for row in range(len(rows))]
        batch = Batch(
            len(flat),
            numbers(*(ids[i] for _, i, ids in flat)),
            None,
            numbers(*(start + i for _, i, _ in flat)),
            numbers(*[1] * len(flat)),
            (POINTER(c_int32) * len(flat))(*(pointer(numerals[row]) for row, _, _ in flat)),
            (c_int8 * len(flat))(*(i == len(ids) - 1 for _, i, ids in flat)),
        )
        return self._run(batch, len(rows))

    def logits(self, ids: list[int]) -> np.ndarray:
        """What comes after each of a text's tokens, read from the beginning. (T, V)"""
        self.keep(0)
        T, row = len(ids), c_int32(0)
        batch = Batch(
            T, (c_int32 * T)(*ids), None, (c_int32 * T)(*range(T)), (c_int32 * T)(*[1] * T),
            (POINTER(c_int32) * T)(*[pointer(row)] * T), (c_int8 * T)(*[1] * T),
        )
        return self._logits(batch, T).copy()

    def _run(self, batch: Batch, rows: int) -> list[int]:
        """Run a batch; the likeliest token after each of its rows."""
        return self._logits(batch, rows).argmax(1).tolist()

    def _logits(self, batch: Batch, rows: int) -> np.ndarray:
        """Run a batch; the logits that are wanted, (rows, V), until the next."""
        if failed := self.lib.llama_decode(self.context, batch):
            raise RuntimeError(f"llama_decode returned {failed} for {batch.count} tokens")
        logits = (self.row * rows).from_address(self.lib.llama_get_logits(self.context))
        return np.frombuffer(logits, np.float32).reshape(rows, -1)

    def keep(self, tokens: int) -> None:
        """Forget all but the first so many tokens of every row."""
        memory = self.lib.llama_get_memory(self.context)
        self.lib.llama_memory_seq_rm(memory, -1, tokens, -1)

    def greedy(
        self, ids: list[int], tokens: int, end: int | None = None, after: int = 0
    ) -> list[int]:
        """The likeliest reply to a prompt, without the token `end`, which ends it.

        The prompt stands at position `after`: what was read before that stays, the rest is forgotten.
        """
        self.keep(after)
        reply = [self.read(ids)]
        while reply[-1] != end and len(reply) < tokens:
            reply.append(self.read(reply[-1:]))
        return reply[:-1] if reply[-1] == end else reply

    def greedy_rows(self, prompts: list[list[int]], tokens: int) -> list[list[int]]:
        """The likeliest continuations of prompts of one length, run together, none of them ending."""
        self.keep(0)
        chosen = [self.read_rows(prompts, 0)]
        while len(chosen) < tokens:
            place = len(prompts[0]) + len(chosen) - 1
            chosen.append(self.read_rows([[token] for token in chosen[-1]], place))
        return [list(row) for row in zip(*chosen)]

    def close(self) -> None:
        """Give the memory back."""
        if self.context:
            self.lib.llama_free(self.context)
        if self.model:
            self.lib.llama_model_free(self.model)
        self.context = self.model = None

    def __enter__(self) -> LlamaCpp:
        return self

    def __exit__(self, *_) -> None:
        self.close()
