"""Sampling: filters, distribution, seeds."""

import pytest
import torch

from inference.config import GenerateConfig
from inference.sampling import (
    adjust,
    apply_min_p,
    apply_repetition_penalty,
    apply_top_k,
    apply_top_p,
    draw,
    first_seen,
    greedy,
    make_generators,
    sample,
)
from models.errors import UserError

PUNISHED = GenerateConfig(repetition_penalty=1.2)
LOGITS = torch.tensor([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]]).log()


def kept(logits: torch.Tensor) -> list[list[int]]:
    return [row.isfinite().nonzero()[:, 0].tolist() for row in logits]


def test_greedy_and_filters():
    assert greedy(LOGITS).tolist() == [0, 3]
    assert kept(apply_top_k(LOGITS, 2)) == [[0, 1], [2, 3]]
    assert kept(apply_top_p(LOGITS, 0.75)) == [[0, 1], [1, 2, 3]]
    assert kept(apply_top_p(LOGITS, 1e-6)) == [[0], [3]]  # at least one
    for off in (apply_top_k(LOGITS, 0), apply_top_k(LOGITS, None), apply_top_p(LOGITS, 1.0)):
        assert torch.equal(off, LOGITS)


def test_filters_equal_transformers_on_random_logits():
    warpers = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(16, 200) * 3
    for k in (1, 7, 200):
        assert torch.equal(apply_top_k(logits, k), warpers.TopKLogitsWarper(k)(None, logits))
    for p in (0.1, 0.5, 0.95):
        assert torch.equal(apply_top_p(logits, p), warpers.TopPLogitsWarper(p)(None, logits))


def test_min_p_and_repetition_penalty_equal_transformers():
    processors = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(16, 200) * 3
    for p in (0.01, 0.2, 1.0):
        assert torch.equal(apply_min_p(logits, p), processors.MinPLogitsWarper(p)(None, logits))
    assert torch.equal(apply_min_p(logits, 0.0), logits)
    contexts = torch.randint(0, 200, (16, 30))
    contexts[contexts == 2] = 3  # the end token, which we spare
    seen = first_seen(contexts.tolist(), logits, PUNISHED)
    for penalty in (0.8, 1.3):
        theirs = processors.RepetitionPenaltyLogitsProcessor(penalty)(contexts, logits)
        assert torch.equal(apply_repetition_penalty(logits, seen, penalty), theirs)


def test_all_settings_together_give_transformers_distribution():
    processors = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(8, 300) * 2
    contexts = torch.randint(3, 300, (8, 40))  # 2, the end token, is never punished
    config = GenerateConfig(
        temperature=0.7, top_k=50, top_p=0.9, min_p=0.05, repetition_penalty=1.2
    )
    theirs = logits
    for processor in (
        processors.RepetitionPenaltyLogitsProcessor(1.2),
        processors.TemperatureLogitsWarper(0.7),
        processors.TopKLogitsWarper(50),
        processors.TopPLogitsWarper(0.9),
        processors.MinPLogitsWarper(0.05),
    ):
        theirs = processor(contexts, theirs)
    ours = adjust(logits, config, first_seen(contexts.tolist(), logits, config))
    assert torch.allclose(ours.softmax(-1), theirs.softmax(-1), atol=1e-6)


def test_the_end_token_is_never_punished():
    seen = first_seen([[5, 2, 7], [1]], torch.zeros(2, 8), PUNISHED)
    assert seen.nonzero().tolist() == [[0, 5], [0, 7], [1, 1]]


def test_draws_follow_the_distribution_and_the_seed():
    generators = make_generators(7, 1)
    logits = LOGITS[:1].clone()
    logits[0, 1] = float("-inf")
    counts = torch.zeros(4)
    for _ in range(4000):
        counts[draw(logits, generators)] += 1
    expected = logits[0].softmax(-1) * 4000
    assert counts[1] == 0
    assert ((counts - expected).abs() < 4 * expected.clamp_min(1).sqrt()).all()


def test_rows_draw_as_they_would_alone():
    config = GenerateConfig(temperature=1.3, top_k=3, top_p=0.9, seed=5)
    together, alone = make_generators(5, 2), make_generators(5, 1)
    pairs = [sample(LOGITS, config, together) for _ in range(20)]
    singles = [sample(LOGITS[1:], config, alone) for _ in range(20)]
    assert [int(pair[1]) for pair in pairs] == [int(single[0]) for single in singles]


def test_suppressed_tokens_are_never_chosen():
    config = GenerateConfig(suppress_tokens=(0, 3))
    assert sample(LOGITS, config, []).tolist() == [1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"max_new_tokens": 0},
        {"seed": -1},
        {"max_seq_len": 1},
        {"min_p": 1.5},
        {"repetition_penalty": 0.0},
        {"stop_strings": ("",)},
        {"stop_strings": "word"},
        {"prefill_chunk": 0},
        {"cache_kind": "q3"},
        {"cache_kind": "q8_0/"},
    ],
)
def test_config_refuses(bad):
    with pytest.raises(UserError, match=next(iter(bad))):
        GenerateConfig(**bad)
