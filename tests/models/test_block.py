"""The shared block: masks, positions and the cache."""

import pytest
import torch

from models.block import Block, BlockConfig, causal_mask, rope_table
from models.cache import KVCache
from models.errors import UserError

CONFIG = BlockConfig(32, num_heads=4, num_kv_heads=2, head_dim=16, intermediate_size=48)


def run(block: Block, x: torch.Tensor, cache: KVCache | None = None, start: int = 0):
    """One causal step over x (B, T, D) at positions start, start + 1, …"""
    T = x.shape[1]
    rope = rope_table(torch.arange(start, start + T), CONFIG.head_dim, CONFIG.rope_theta)
    out = block(x, rope, causal_mask(T, start + T), cache, 0)
    if cache is not None:
        cache.advance(T)
    return out


def test_causal_mask_lets_a_new_token_see_all_before_it():
    assert causal_mask(1, 5).all()
    assert causal_mask(3, 3)[0, 0].tolist() == torch.ones(3, 3).tril().bool().tolist()


def test_cached_equals_uncached():
    torch.manual_seed(0)
    block, x = Block(CONFIG), torch.randn(2, 9, 32)
    cache = KVCache(1, 2, 2, 9, 16)
    parts = [run(block, x[:, :4], cache)]
    parts += [run(block, x[:, t : t + 1], cache, t) for t in range(4, 9)]
    assert torch.allclose(torch.cat(parts, 1), run(block, x), atol=1e-5)


def test_the_future_changes_nothing():
    torch.manual_seed(0)
    block, x = Block(CONFIG), torch.randn(1, 6, 32)
    changed = x.clone()
    changed[:, 4:] += 1.0
    a, b = run(block, x), run(block, changed)
    assert torch.allclose(a[:, :4], b[:, :4], atol=1e-6)
    assert not torch.allclose(a[:, 4:], b[:, 4:], atol=1e-3)


def test_positions_matter():
    torch.manual_seed(0)
    block, x = Block(CONFIG), torch.randn(1, 6, 32)
    rope = rope_table(torch.arange(6), 16, 1e4)
    flat = rope_table(torch.zeros(6), 16, 1e4)
    assert not torch.allclose(block(x, rope), block(x, flat), atol=1e-3)


@pytest.mark.parametrize("heads", [(4, 3, 16), (0, 1, 16), (4, 0, 16), (4, 2, 15), (4, 2, 0)])
def test_heads_that_cannot_be_are_refused(heads):
    with pytest.raises(UserError):
        BlockConfig(32, *heads, intermediate_size=48)
