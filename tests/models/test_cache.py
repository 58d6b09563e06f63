"""Cache kinds: how exact, how large, keys and values apart."""

import pytest
import torch

from models.cache import KVCache
from models.cachekind import KVCacheKind, parse_cache_kind
from models.errors import UserError
from models.quantization import dequantise, quantise

# Largest error, as a share of the block's largest number: half a step of each format.
STEP = {"q8_0": 0.5 / 127, "q4_0": 1 / 8, "nf4": 0.16}


@pytest.mark.parametrize("kind", STEP)
def test_numbers_come_back_within_half_a_step(kind):
    x = torch.randn(2, 3, 5, 64) * torch.logspace(-3, 2, 5)[:, None]
    codes, scales = quantise(x, KVCacheKind(kind), 32)
    back = dequantise(codes, scales, KVCacheKind(kind), torch.float32)
    largest = x.unflatten(-1, (2, 32)).abs().amax(-1, keepdim=True)
    error = (back - x).unflatten(-1, (2, 32)).abs() / largest
    assert error.max() <= STEP[kind] * 1.01 + 1e-3  # and the scale's own rounding to fp16
    assert error.max() > STEP[kind] / 4, "that exact, it is not this format"
    assert codes.nbytes == x.numel() * (1 if kind == "q8_0" else 0.5)


@pytest.mark.parametrize("kind", STEP)
def test_zeros_stay_zeros(kind):
    codes, scales = quantise(torch.zeros(1, 32), KVCacheKind(kind), 32)
    assert not dequantise(codes, scales, KVCacheKind(kind), torch.float32).any()


@pytest.mark.parametrize("kind", [*KVCacheKind, "q8_0/nf4"])
def test_a_cache_gives_back_what_was_written_in_pieces(kind):
    keys, values = parse_cache_kind(kind)
    cache = KVCache(1, 2, 2, 10, 32, kinds=(keys, values))
    k, v = torch.randn(2, 2, 2, 7, 32)
    for start, end in ((0, 4), (4, 5), (5, 7)):
        got_k, got_v = cache.update(0, k[:, :, start:end], v[:, :, start:end])
        cache.advance(end - start)
    assert got_k.shape == got_v.shape == (2, 2, 7, 32)
    for got, true, config in ((got_k, k, keys), (got_v, v, values)):
        bound = STEP.get(config.kind, 0.01) * 1.1 * true.abs().max()
        assert (got - true).abs().max() <= bound


def test_bytes_are_those_of_the_formats():
    caches = {kind.value: KVCache(1, 1, 1, 1, 64, kinds=parse_cache_kind(kind)) for kind in KVCacheKind}
    nbytes = {kind: cache.nbytes // 2 for kind, cache in caches.items()}
    assert nbytes == {"fp32": 256, "fp16": 128, "bf16": 128, "q8_0": 68, "q4_0": 36, "nf4": 36}


def test_refusals():
    for text in ("", "q5", "q8_0/", "q8_0/nf4/fp16"):
        with pytest.raises(UserError, match="cache_kind"):
            parse_cache_kind(text)
    with pytest.raises(UserError, match="multiple of 32"):
        KVCache(1, 1, 1, 4, 48, kinds=parse_cache_kind("nf4"))
    for kind in ("q4_0", "nf4"):  # two numbers share a byte
        kinds = tuple(one.fitted(15) for one in parse_cache_kind(kind))
        with pytest.raises(UserError, match="needs an even width, not 15"):
            KVCache(1, 1, 1, 4, (15, 15), kinds=kinds)
