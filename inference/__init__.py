"""Running μOmni: sampling, generation, chat sessions and the public class `Omni`.

Names load on first use, so `import inference` costs nothing; nothing here trains or makes data.
"""

from importlib import import_module

_HOME = {
    "Omni": "omni",
    "ChatSession": "session",
    "GenerateConfig": "config",
    "Prompt": "prompt",
    "Generator": "api",
    "generate": "api",
    "generate_batch": "api",
    "generate_iter": "api",
    "generate_stream": "api",
    "load_model": "api",
    "sample_top_p": "sampling",
    "SpeculativeGenerator": "speculative.generator",
    "SpeculativeConfig": "speculative.config",
    "NgramDraft": "speculative.draft",
    "PromptLookup": "speculative.draft",
    "ThinkerDraft": "speculative.draft",
    "Notice": "notice",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'inference' has no attribute {name!r}")
    value = getattr(import_module(f"inference.{_HOME[name]}"), name)
    globals()[name] = value  # found without this function from now on
    return value
