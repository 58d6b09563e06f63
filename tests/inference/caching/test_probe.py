"""The probe of cache kinds gives the figures of plain passes; plans belong to what they depend on."""

import copy
from dataclasses import replace

import pytest
import torch

from inference.caching import planning, probe
from inference.caching.needle import needle
from inference.caching.planning import resolve
from inference.caching.probe import CHUNK, CacheProbe
from inference.config import GenerateConfig
from inference.runner import Runner

PYTORCH = GenerateConfig(native="off", cache_quality_decode_steps=5)


@torch.inference_mode()
def passes(thinker, ids: list[int], kind: str) -> torch.Tensor:
    """Log-probability of each token after the first, all read in one pass. (S - 1,)"""
    cache = thinker.new_cache(1, len(ids), kind)
    steps = thinker(torch.tensor([ids[:-1]]), cache=cache)[0].float().log_softmax(-1)  # (S - 1, V)
    return steps.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def test_figures_are_those_of_plain_passes(omni):
    thinker, prompt = omni.model.thinker, needle(omni.tokenizer, 128)
    quality = CacheProbe(thinker, prompt, 128, PYTORCH).quality("nf4")
    more = passes(thinker, prompt.ids, "fp32") - passes(thinker, prompt.ids, "nf4")  # nats
    answer = float(more[prompt.answer - 1 :].mean())
    assert abs(answer) > 0.01 and len(more) - prompt.answer > 5
    assert quality.delta_nll == pytest.approx(answer, rel=1e-3, abs=1e-4)
    assert quality.ppl_ratio == pytest.approx(float(more.mean().exp()), rel=1e-3)


def test_the_last_tokens_are_read_one_by_one_as_decoding_does(omni, monkeypatch):
    read = []

    class Spy(Runner):
        def __call__(self, new, *more, **settings):
            read.append(len(new))
            return super().__call__(new, *more, **settings)

    monkeypatch.setattr(probe, "Runner", Spy)
    prompt = needle(omni.tokenizer, 128)
    CacheProbe(omni.model.thinker, prompt, 128, PYTORCH).log_probabilities("fp32")
    together = len(prompt.ids) - 1 - 5
    assert read == [CHUNK, together - CHUNK] + [1] * 5


def test_another_budget_gate_or_weight_is_another_plan(omni, monkeypatch):
    monkeypatch.setattr(planning, "plan_cache", lambda *_: {"cache_kind": "fp32"})
    thinker, config = omni.model.thinker, GenerateConfig(cache_kind="auto", native="off")
    scaled = copy.deepcopy(thinker)
    with torch.no_grad():
        scaled.model.norm.weight.mul_(1.01)

    def plans(config: GenerateConfig, thinker) -> int:
        """Plans in one memory after the plain question, twice, and this one."""
        memory: dict = {}
        for _ in range(2):
            resolve(GenerateConfig(cache_kind="auto", native="off"), omni.model.thinker, None, memory)
        assert len(memory) == 1
        resolve(config, thinker, None, memory)
        return len(memory)

    assert plans(config, thinker) == 1
    assert plans(config, scaled) == 2
    for change in (
        {"cache_budget_mb": 50.0}, {"cache_quality_max_delta_nll": 0.5},
        {"cache_quality_max_ppl_ratio": 1.5}, {"cache_quality_max_mean_kl": 0.5},
        {"cache_quality_prompt_len": 77}, {"max_seq_len": 100}, {"native": "auto"},
    ):  # fmt: skip
        assert plans(replace(config, **change), thinker) == 2, change
