"""Routing during generation: which positions the router looks at when it picks chapters.

    router = create_inference_router(model.routers["0"], strategy="hybrid", top_k=4, window_size=128)
    chapters, weights = router.route(prefill_hidden_states)
    router.start_generation(prefill_hidden_states)
    chapters, weights = router.route(new_token_hidden_states)

Training routes on a whole question. Generation has one new token at a time, so that a strategy must
say what else counts. `route` is for loops of one's own and takes normalised hidden states, as the
router was trained on; inside a model `choose` reads the same from the KV cache, which keeps them.
"""

import torch
from torch import Tensor

from models.errors import UserError
from models.memory import STRATEGIES, ChapterRouter, Route, SequenceRouting, mean_pool

WINDOW = 128  # tokens, unless told


def check_states(states: Tensor) -> None:
    """Refuse what is not (batch, tokens, hidden)."""
    if states.dim() != 3 or not states.shape[1]:
        raise UserError(f"hidden states must be (batch, tokens, hidden), not {tuple(states.shape)}")


class SequenceLevelRouter(SequenceRouting):
    """Mean-pools the full sequence: training's behaviour. (B, S, D) -> two of (B, top_k)"""

    def __init__(self, router: ChapterRouter, top_k: int = 4):
        check_top_k(router, top_k)
        super().__init__(router, top_k)

    def route(self, hidden_states: Tensor) -> tuple[Tensor, Tensor]:
        """Chapters and their weights, one choice for each row."""
        check_states(hidden_states)
        return self.choose(hidden_states, hidden_states.shape[1])[:2]


class RollingWindowRouter:
    """Mean-pools the last `window_size` tokens, whatever came before. Two of (B, top_k)"""

    keeps_history = True

    def __init__(self, router: ChapterRouter, top_k: int = 4, window_size: int = WINDOW):
        check_top_k(router, top_k)
        if window_size < 1:
            raise UserError(f"window_size must be at least 1, not {window_size}")
        self.router, self.top_k, self.window_size = router, top_k, window_size
        self.cache: Tensor | None = None  # (B, at most window_size, D)

    def reset_cache(self) -> None:
        """Forget the tokens of the last sequence."""
        self.cache = None

    def route(self, hidden_states: Tensor, use_cache: bool = True) -> tuple[Tensor, Tensor]:
        """Chapters and their weights; with `use_cache`, tokens of earlier calls count too."""
        check_states(hidden_states)
        recent = hidden_states
        if use_cache and self.cache is not None:
            if self.cache.shape[0] != hidden_states.shape[0]:
                raise UserError("another number of rows than before: call reset_cache() first")
            recent = torch.cat([self.cache, hidden_states], dim=1)
        recent = recent[:, -self.window_size :]  # (B, window, D)
        if use_cache:
            self.cache = recent
        return self.choose(recent, hidden_states.shape[1])[:2]

    def choose(self, history: Tensor, new: int, real: Tensor | None = None) -> Route:
        """See `SequenceRouting.choose`."""
        seen = None if real is None else real[:, -self.window_size :]
        return self.router.pick(mean_pool(history[:, -self.window_size :], seen), self.top_k)


class TokenLevelRouter:
    """Each token has chapters of its own: two of (B, S, top_k). Long prompts take much memory."""

    keeps_history = False

    def __init__(self, router: ChapterRouter, top_k: int = 4):
        check_top_k(router, top_k)
        self.router, self.top_k = router, top_k

    def route(self, hidden_states: Tensor) -> tuple[Tensor, Tensor]:
        """Chapters and their weights of every token."""
        check_states(hidden_states)
        return self.choose(hidden_states, hidden_states.shape[1])[:2]

    def choose(self, history: Tensor, new: int, real: Tensor | None = None) -> Route:
        """See `SequenceRouting.choose`; what came before the new tokens does not matter."""
        return self.router.pick(history[:, -new:], self.top_k)


class HybridRouter:
    """Sequence-level for what is read, a rolling window for what is generated. Two of (B, top_k)"""

    keeps_history = True

    def __init__(self, router: ChapterRouter, top_k: int = 4, window_size: int = WINDOW):
        self.prefill = SequenceLevelRouter(router, top_k)
        self.rolling = RollingWindowRouter(router, top_k, window_size)
        self.generating = False

    def start_generation(self, prefill_hidden_states: Tensor) -> None:
        """From now on the window counts; it begins with the end of the prompt."""
        check_states(prefill_hidden_states)
        self.rolling.cache = prefill_hidden_states[:, -self.rolling.window_size :]
        self.generating = True

    def route(self, hidden_states: Tensor) -> tuple[Tensor, Tensor]:
        """Chapters and their weights, by the phase."""
        return (self.rolling if self.generating else self.prefill).route(hidden_states)

    def reset(self) -> None:
        """Back to the prompt of a new sequence."""
        self.rolling.reset_cache()
        self.generating = False

    def choose(self, history: Tensor, new: int, real: Tensor | None = None) -> Route:
        """See `SequenceRouting.choose`. A prompt is routed on itself, not on the turns before it."""
        if new == 1:
            return self.rolling.choose(history, new, real)
        return self.prefill.choose(history[:, -new:], new, None if real is None else real[:, -new:])


def check_top_k(router: ChapterRouter, top_k: int) -> None:
    """Refuse to pick more chapters than there are."""
    if not 1 <= top_k <= router.proj.out_features:
        raise UserError(f"top_k must be from 1 to {router.proj.out_features} chapters, not {top_k}")


def create_inference_router(
    router: ChapterRouter, strategy: str = "hybrid", top_k: int = 4, window_size: int = WINDOW
) -> SequenceLevelRouter | RollingWindowRouter | TokenLevelRouter | HybridRouter:
    """A routing strategy by its name: sequence, rolling, token or hybrid.

    Args:
        router: a trained one, `model.routers["0"]`.
        window_size: tokens; rolling and hybrid only.
    """
    if strategy == "sequence":
        return SequenceLevelRouter(router, top_k)
    if strategy == "rolling":
        return RollingWindowRouter(router, top_k, window_size)
    if strategy == "token":
        return TokenLevelRouter(router, top_k)
    if strategy == "hybrid":
        return HybridRouter(router, top_k, window_size)
    raise UserError(f"routing strategy {strategy!r} is unknown: use {', '.join(STRATEGIES)}")
