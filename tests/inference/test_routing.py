"""Routing inside a model: which positions of the history count for the tokens that are new."""

import pytest
import torch

from inference.routing_strategies import HybridRouter, RollingWindowRouter
from models.memory import ChapterRouter, Route, mean_pool

WINDOW, CHAPTERS, HIDDEN = 4, 9, 16


@pytest.fixture(scope="module")
def router() -> ChapterRouter:
    torch.manual_seed(0)
    return ChapterRouter(HIDDEN, CHAPTERS)


@pytest.fixture(scope="module")
def history() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(2, 12, HIDDEN)


@pytest.fixture(scope="module")
def real() -> torch.Tensor:
    """The second row is padded in front, into the window."""
    mask = torch.ones(2, 12, dtype=torch.bool)
    mask[1, :10] = False
    return mask


def same(one: Route, other: Route) -> bool:
    return all(torch.allclose(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", [RollingWindowRouter, HybridRouter])
def test_a_new_token_is_routed_on_the_window(router, history, real, kind):
    strategy = kind(router, top_k=3, window_size=WINDOW)
    recent = history[:, -WINDOW:]
    assert same(strategy.choose(history, 1), router.pick(mean_pool(recent), 3))
    padded = router.pick(mean_pool(recent, real[:, -WINDOW:]), 3)
    assert same(strategy.choose(history, 1, real), padded)
    assert not same(strategy.choose(history, 1), padded)


def test_a_window_counts_for_prompts_too(router, history):
    strategy = RollingWindowRouter(router, top_k=3, window_size=WINDOW)
    assert same(strategy.choose(history, 7), router.pick(mean_pool(history[:, -WINDOW:]), 3))


def test_hybrid_routes_a_prompt_on_itself_alone(router, history, real):
    strategy = HybridRouter(router, top_k=3, window_size=WINDOW)
    assert same(strategy.choose(history, 7), router.pick(mean_pool(history[:, -7:]), 3))
    padded = router.pick(mean_pool(history[:, -7:], real[:, -7:]), 3)
    assert same(strategy.choose(history, 7, real), padded)
