"""Chunks: the Thinker as a few exported programs, run by ONNX Runtime or Core ML.

Names load on first use: without them neither runtime is imported.
"""

from importlib import import_module

_HOME = {
    "ChunkManifest": "manifest",
    "ChunkedThinker": "thinker",
    "CoreMLLanguageModel": "model",
    "generate": "model",
    "chat_loop": "model",
    "load_chunks": "model",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'inference.chunked' has no attribute {name!r}")
    return getattr(import_module(f"inference.chunked.{_HOME[name]}"), name)
