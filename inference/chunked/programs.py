"""Programs: one exported graph, opened in the runtime that its file belongs to.

`OnnxProgram` and `CoreMLProgram` (inference.chunked.coreml) have the same four methods, so the
Thinker that is put together from them does not know which runtime it has.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import torch

from inference.chunked.compiled import Compiled
from inference.notice import notice
from models.errors import UserError, in_brief, needed

INSTALL = "-r requirements-chunks.txt"
Outputs = dict[str, np.ndarray]


class Program(Protocol):
    """A graph with fixed shapes, and the state that its calls share."""

    def new_state(self, shape: tuple[int, ...]) -> Any:
        """Empty keys and values, each of `shape` (layers, Hkv, S, D)."""

    def copy_state(self, state: Any, length: int) -> Any:
        """Another state with the same first `length` positions."""

    def chunk(self, hidden: np.ndarray, position: int, state: Any) -> np.ndarray:
        """Run T positions from `position` on into the state. (1, hidden, 1, T) -> the same."""

    def head(self, hidden: np.ndarray) -> Outputs:
        """Vocabulary scores of T positions. (1, hidden, 1, T) -> see export.chunk_modules."""


def open_program(path: Path, cache_compiled: bool = False) -> Program:
    """Open an `.onnx` file or an `.mlpackage`.

    Args:
        cache_compiled: keep the compiled form beside it. One that is there is used anyway.

    Raises:
        UserError: its runtime is missing, or cannot read the file.
    """
    if path.suffix == ".onnx":
        return OnnxProgram(path, cache_compiled)
    if path.suffix == ".mlpackage":
        from inference.chunked.coreml import CoreMLProgram

        return CoreMLProgram(path, cache_compiled)
    raise UserError(f"{path} is neither an .onnx file nor an .mlpackage")


def onnx_runtime() -> ModuleType:
    """The package onnxruntime."""
    onnxruntime = needed("onnxruntime", "running .onnx chunks", INSTALL)
    onnxruntime.set_default_logger_severity(3)  # errors only: they are raised as well
    return onnxruntime


def onnx_session(path: Path, optimise: bool = True, write_to: Path | None = None, profile=None):
    """An ONNX Runtime session on the CPU.

    Args:
        optimise: whether the graph is optimised for this processor; a compiled one is already.
        write_to: where the optimised graph is written.
        profile: beginning of the name of a file of timings.
    """
    runtime = onnx_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    levels = runtime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    if write_to is not None:
        options.optimized_model_filepath = str(write_to)
    if profile is not None:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class OnnxProgram:
    """A graph in ONNX Runtime; its optimised form is the compiled one.

    ONNX Runtime has no states: a chunk gets keys and values as inputs, read and never copied, and
    returns those of the new positions, which are written behind them here.
    """

    def __init__(self, path: Path, cache_compiled: bool = False) -> None:
        self.path = path
        runtime = onnx_runtime()
        try:
            self.session = self._open(runtime, cache_compiled)
        except Exception as error:  # noqa: BLE001 (the runtime's errors share no base class)
            if isinstance(error, UserError):
                raise
            raise UserError(f"ONNX Runtime cannot read {path} ({in_brief(error)})") from error
        self.names = [value.name for value in self.session.get_outputs()]

    def _open(self, runtime, cache_compiled: bool):
        compiled = Compiled(self.path, ".compiled.onnx", f"onnxruntime {runtime.__version__}")
        if compiled.fits():
            try:
                return onnx_session(compiled.path, optimise=False)
            except Exception as error:  # noqa: BLE001
                notice(f"{compiled.path} is damaged ({in_brief(error)}): made again")
        if not compiled.wanted(cache_compiled):
            return onnx_session(self.path)
        with compiled.writing() as path:
            session = onnx_session(self.path, write_to=path)
        return session

    def new_state(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(shape, np.float32), np.zeros(shape, np.float32)

    def copy_state(self, state: tuple[np.ndarray, np.ndarray], length: int):
        copied = tuple(np.zeros_like(part) for part in state)
        for part, other in zip(state, copied, strict=True):
            other[:, :, :length] = part[:, :, :length]
        return copied

    def chunk(
        self, hidden: np.ndarray, position: int, state: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        keys, values = state
        feed = {"hidden_states": hidden, "position": np.array([position], np.int32)}
        found = self._run(feed | {"keys": keys, "values": values})
        end = position + hidden.shape[-1]
        keys[:, :, position:end] = found["new_keys"]
        values[:, :, position:end] = found["new_values"]
        return found["output"]

    def head(self, hidden: np.ndarray) -> Outputs:
        return self._run({"hidden_states": hidden})

    def _run(self, feed: Outputs) -> Outputs:
        try:
            return dict(zip(self.names, self.session.run(self.names, feed), strict=True))
        except Exception as error:  # noqa: BLE001
            raise UserError(
                f"{self.path} does not fit its manifest ({in_brief(error)}): export it again"
            ) from error
