"""Core ML programs: an `.mlpackage`, or the `.mlmodelc` that was compiled from it, on macOS.

Packages are written and checked on any system; only macOS has the runtime. States are Core ML's
own: keys and values stay in the model's memory between calls.
"""

from __future__ import annotations

import logging
import platform
import shutil
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from inference.chunked.compiled import Compiled
from inference.chunked.programs import INSTALL, Outputs
from models.errors import UserError, in_brief, needed

STATES = ("keys", "values")


def core_ml() -> ModuleType:
    """The package coremltools, quiet about what is of no use here."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # untested versions, parts that only macOS has
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            coremltools = needed("coremltools", "a Core ML chunk", INSTALL)
    finally:
        logging.disable(before)
    logging.getLogger("coremltools").setLevel(logging.ERROR)  # no bars of progress
    return coremltools


def need_macos() -> None:
    """Refuse to predict where there is no Core ML."""
    if sys.platform != "darwin":
        raise UserError(
            "Core ML runs on macOS only: export with --target onnx to run chunks on this system"
        )


class CoreMLProgram:
    """A package in Core ML, on whichever of CPU, GPU and Neural Engine it chooses."""

    def __init__(self, path: Path, cache_compiled: bool = False) -> None:
        need_macos()
        self.path, self.tools = path, core_ml()
        try:
            self.model = self._open(cache_compiled)
        except Exception as error:  # noqa: BLE001 (Core ML's errors share no base class)
            raise UserError(f"Core ML cannot read {path} ({in_brief(error)})") from error

    def _open(self, cache_compiled: bool):
        compiled = Compiled(self.path, ".mlmodelc", f"macOS {platform.mac_ver()[0]}")
        if not compiled.fits():
            if not compiled.wanted(cache_compiled):
                return self.tools.models.MLModel(str(self.path))
            model = self.tools.models.MLModel(str(self.path))
            with compiled.writing() as path:
                shutil.copytree(model.get_compiled_model_path(), path)
        return self.tools.models.CompiledMLModel(str(compiled.path))

    def new_state(self, shape: tuple[int, ...]) -> Any:
        return self.model.make_state()

    def copy_state(self, state: Any, length: int) -> Any:
        other = self.model.make_state()
        for name in STATES:
            other.write_state(name, state.read_state(name))
        return other

    def chunk(self, hidden: np.ndarray, position: int, state: Any) -> np.ndarray:
        feed = {"hidden_states": hidden.astype(np.float16), "position": np.array([position], np.int32)}
        return self._predict(feed, state)["output"]

    def head(self, hidden: np.ndarray) -> Outputs:
        return self._predict({"hidden_states": hidden.astype(np.float16)})

    def _predict(self, feed: Outputs, state: Any = None) -> Outputs:
        try:
            found = self.model.predict(feed, state) if state is not None else self.model.predict(feed)
        except Exception as error:  # noqa: BLE001
            raise UserError(f"{self.path} does not run ({in_brief(error)}): export it again") from error
        return {name: value.astype(np.float32) for name, value in found.items()}
