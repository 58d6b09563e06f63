"""Converting a module of `export.chunk_modules` to an ONNX file or a Core ML package."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import torch
from torch import Tensor, nn

from inference.chunked.coreml import STATES, core_ml
from inference.chunked.programs import INSTALL
from models.errors import needed

OPSET = 18  # of ONNX
LARGEST = 1_500_000_000  # bytes: a protobuf holds 2 GB, so more weights stand in a file beside it


def onnx_package() -> ModuleType:
    """The package onnx."""
    return needed("onnx", "writing .onnx chunks", INSTALL)


def need_package(target: str) -> None:
    """Refuse a target whose converter is not installed."""
    onnx_package() if target == "onnx" else core_ml()


@torch.no_grad()
def to_onnx(module: nn.Module, examples: tuple[Tensor, ...], path: Path) -> None:
    """Write an ONNX file; weights of more than LARGEST bytes go into `NAME.onnx.data`."""
    onnx = onnx_package()
    with TemporaryDirectory(dir=path.parent, prefix=".export-") as folder:
        made = Path(folder) / path.name
        with warnings.catch_warnings(action="ignore"):  # shapes are meant to be fixed
            torch.onnx.export(
                module.eval(), examples, str(made), dynamo=False, opset_version=OPSET,
                input_names=list(module.inputs), output_names=list(module.outputs),
            )
        model = onnx.load(made)
    size = sum(weight.nbytes for weight in module.state_dict().values())
    outside = {"save_as_external_data": True, "location": f"{path.name}.data"} if size > LARGEST else {}
    onnx.save(model, path, **outside)


@torch.no_grad()
def to_coreml(
    module: nn.Module, examples: tuple[Tensor, ...], path: Path, state: tuple[int, ...] | None = None
) -> None:
    """Write an ML program in fp16.

    Args:
        state: shape of its keys and of its values; None: it keeps none.
    """
    tools = core_ml()
    with warnings.catch_warnings(action="ignore"):  # shapes are meant to be fixed
        traced = torch.jit.trace(module.eval(), examples, check_trace=False)
        kinds = [np.int32 if x.dtype == torch.int32 else np.float16 for x in examples]
        inputs = [
            tools.TensorType(name, shape=tuple(x.shape), dtype=kind)
            for name, x, kind in zip(module.inputs, examples, kinds, strict=True)
        ]
        states = [] if state is None else [
            tools.StateType(tools.TensorType(shape=state, dtype=np.float16), name=name)
            for name in STATES
        ]
        model = tools.convert(
            traced,
            inputs=inputs,
            outputs=[tools.TensorType(name, dtype=np.float16) for name in module.outputs],
            states=states,
            minimum_deployment_target=tools.target.iOS18,  # the first with states
            skip_model_load=True,
        )
    model.save(str(path))
