"""Running μOmni: sampling, generation, chat sessions and the public class `Omni`.

Names load on first use, so `import inference` costs nothing; nothing here trains or makes data.
"""

from importlib import import_module

_HOME = {
    "Omni": "omni",
    "ChatSession": "session",
    "GenerateConfig": "config",
    "Prompt": "prompt",
    "Generator": "generate",
    "generate": "generate",
    "generate_batch": "generate",
    "generate_iter": "generate",
    "Notice": "notice",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'inference' has no attribute {name!r}")
    value = getattr(import_module(f"inference.{_HOME[name]}"), name)
    globals()[name] = value  # importing inference.generate has bound the module here: rebind
    return value
