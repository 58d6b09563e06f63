"""The compute plan: which device runs each kind of operation of exported chunks.

Core ML is asked before anything runs. ONNX Runtime tells after a run, with the times it took.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from inference.chunked.manifest import EMBEDDINGS, LM_HEAD, ChunkManifest
from inference.chunked.programs import onnx_session

RUNS = 5  # of which the times are the mean
Rows = list[tuple[str, str, int, float]]  # operation, device, how many, cost


def compute_plan(folder: Path) -> str:
    """A table for every program in a folder of chunks."""
    manifest = ChunkManifest.read(folder)
    stems = [f"chunk_{i}" for i in range(manifest.num_chunks)] + [LM_HEAD]
    unit = "ms a call" if manifest.target == "onnx" else "share of the cost"
    read = onnx_rows if manifest.target == "onnx" else coreml_rows
    paths = [folder / manifest.file(stem) for stem in stems]
    tables = [table(path.name, read(path), unit) for path in paths if path.exists()]
    if (folder / EMBEDDINGS).exists():
        tables.append(f"{EMBEDDINGS}: a table, read on the CPU")
    return "\n\n".join(tables)


def table(name: str, rows: Rows, unit: str) -> str:
    """One program's operations, the costliest first, and the sum of each device."""
    devices: dict[str, list] = defaultdict(lambda: [0, 0.0])
    for _, device, count, cost in rows:
        devices[device][0] += count
        devices[device][1] += cost
    sums = ", ".join(f"{device}: {n} operations, {cost:.2f}" for device, (n, cost) in devices.items())
    lines = [f"{name} ({unit}; {sums})"]
    lines += [
        f"  {operation:28} {device:24} {count:4} {cost:8.3f}"
        for operation, device, count, cost in sorted(rows, key=lambda row: -row[3])
    ]
    return "\n".join(lines)


def onnx_rows(path: Path) -> Rows:
    """What ONNX Runtime measured of each kind of node, in milliseconds a call."""
    kinds = {"tensor(float)": np.float32, "tensor(int32)": np.int32}
    with TemporaryDirectory() as folder:
        session = onnx_session(path, profile=Path(folder) / "profile")
        feed = {x.name: np.zeros(x.shape, kinds[x.type]) for x in session.get_inputs()}
        for _ in range(RUNS):
            session.run(None, feed)
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            about = event["args"]
            found[about["op_name"], about.get("provider", "?")].append(event["dur"] / 1000)  # µs
    return [
        (operation, device, len(times) // RUNS, sum(times) / RUNS)
        for (operation, device), times in found.items()
    ]


def coreml_rows(path: Path) -> Rows:
    """What Core ML intends for each kind of operation, with its share of the estimated cost."""
    from inference.chunked.coreml import core_ml, need_macos

    need_macos()
    tools = core_ml()
    compiled = tools.models.MLModel(str(path)).get_compiled_model_path()
    plan = tools.models.compute_plan.MLComputePlan.load_from_path(compiled)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for operation in plan.model_structure.program.functions["main"].block.operations:
        usage = plan.get_compute_device_usage_for_mlprogram_operation(operation)
        if usage is None:  # a constant
            continue
        device = type(usage.preferred_compute_device).__name__
        device = device.removeprefix("ML").removesuffix("ComputeDevice")
        cost = plan.get_estimated_cost_for_mlprogram_operation(operation)
        found[operation.operator_name, device].append(cost.weight if cost is not None else 0.0)
    return [
        (operation, device, len(costs), sum(costs)) for (operation, device), costs in found.items()
    ]
