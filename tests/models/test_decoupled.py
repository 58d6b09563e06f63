"""Decoupled attention: cached equals full, its cache is smaller, and it never passes for a Qwen3."""

import dataclasses
import json

import pytest
import torch

from models.cachekind import parse_cache_kind
from models.decoupled import FIELDS, DecoupledAttention
from models.errors import UserError
from models.thinker import Thinker, ThinkerConfig

STANDARD = ThinkerConfig(
    vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=32, intermediate_size=48, max_position_embeddings=64,
)
DECOUPLED = dataclasses.replace(
    STANDARD, attention="dba", semantic_dim=8, geometric_dim=16, value_dim=32
)


@pytest.fixture
def thinker() -> Thinker:
    torch.manual_seed(0)
    thinker = Thinker(DECOUPLED).eval()
    for weight in thinker.parameters():
        if weight.dim() > 1:
            weight.data.mul_(5)  # far from uniform logits, so that a difference shows
    return thinker


@torch.no_grad()
def test_cached_equals_full(thinker):
    ids = torch.randint(4, 128, (2, 20))
    cache = thinker.new_cache(2, 20)
    parts = [thinker(ids[:, :7], cache=cache), thinker(ids[:, 7:12], cache=cache)]
    parts += [thinker(ids[:, t : t + 1], cache=cache) for t in range(12, 20)]
    assert torch.allclose(torch.cat(parts, 1), thinker(ids), atol=1e-4)


@torch.no_grad()
def test_a_padded_row_equals_the_row_alone(thinker):
    ids = torch.randint(4, 128, (1, 10))
    padded = torch.cat([torch.full((1, 5), 3), ids], 1)
    mask = (torch.arange(15) >= 5)[None]
    cache = thinker.new_cache(1, 15)
    thinker(padded[:, :9], attention_mask=mask[:, :9], cache=cache)
    rest = thinker(padded[:, 9:], attention_mask=mask, cache=cache)
    assert torch.allclose(rest, thinker(ids)[:, 4:], atol=1e-4)


@torch.no_grad()
def test_batch_equals_single_through_generation(thinker):
    from inference import GenerateConfig, generate, generate_batch
    from inference.prompt import Prompt

    prompts = [Prompt([1, 40, 50, 60, 70]), Prompt([1, 90]), Prompt([1, 33, 44])]
    for kind in (None, "q8_0", "nf4/fp32/q8_0"):
        config = GenerateConfig(max_new_tokens=12, cache_kind=kind)
        single = [generate(thinker, prompt, config) for prompt in prompts]
        assert generate_batch(thinker, prompts, config) == single
        assert len({tuple(reply) for reply in single}) == 3


@torch.no_grad()
def test_only_geometric_keys_know_positions():
    torch.manual_seed(0)
    sizes = {"num_attention_heads": 2, "num_key_value_heads": 1, "geometric_dim": 8, "value_dim": 8}
    attention = DecoupledAttention(dataclasses.replace(DECOUPLED, **sizes))
    x = torch.randn(1, 6, 32)

    def out(order: list[int]) -> torch.Tensor:
        from models.block import rope_table

        rope = rope_table(torch.arange(6), 8, 1e4)
        return attention(x[:, order], rope, None, None, 0)[:, [order.index(i) for i in range(6)]]

    there, back = list(range(6)), list(range(5, -1, -1))
    assert not torch.allclose(out(there), out(back), atol=1e-4)
    torch.nn.init.zeros_(attention.k_geometric_norm.weight)  # without a mask, a set has no order
    assert torch.allclose(out(there), out(back), atol=1e-5)


def test_the_cache_keeps_three_narrow_parts_each_in_its_kind(thinker):
    cache = thinker.new_cache(1, 10, "q4_0/fp16/q8_0")
    assert [store.config.kind for store in cache.layers[0]] == ["q4_0", "fp16", "q8_0"]
    each = (4 + 2) + 2 * 16 + (32 + 2)  # a block of 8 in 4 bits, fp16, a block of 32 in 8 bits
    assert cache.nbytes == each * 2 * 2 * 10
    assert thinker.new_cache(1, 1).nbytes == 2 * 2 * 4 * (8 + 16 + 32)
    assert thinker.new_cache(1, 1).nbytes < Thinker(STANDARD).new_cache(1, 1).nbytes
    assert [c.kind for c in parse_cache_kind("q8_0/nf4", 3)] == ["q8_0", "q8_0", "nf4"]
    with pytest.raises(UserError, match="SEMANTIC/GEOMETRIC/VALUES"):
        thinker.new_cache(1, 4, "q5")
    with pytest.raises(UserError, match="KEYS/VALUES"):
        Thinker(STANDARD).new_cache(1, 4, "nf4/q8_0/nf4")


def test_saved_and_loaded_and_refused_where_qwen3_is_wanted(thinker, tmp_path):
    thinker.save_pretrained(tmp_path, dtype=torch.float32)
    values = json.loads((tmp_path / "config.json").read_text())
    assert values["model_type"] == "muomni_dba" and "architectures" not in values
    ids = torch.randint(4, 128, (1, 9))
    assert torch.equal(Thinker.from_pretrained(tmp_path)(ids), thinker(ids))
    with pytest.raises(UserError, match="not a Qwen3"):
        thinker.config.to_hugging_face()
    with pytest.raises(UserError, match="muomni_dba"):
        ThinkerConfig.from_hugging_face(values, "here")


def test_standard_thinkers_are_what_they_were():
    values = STANDARD.to_hugging_face()
    assert values["model_type"] == "qwen3" and not FIELDS & values.keys()
    assert ThinkerConfig.from_json(values, "here") == STANDARD
    names = {name for name, _ in Thinker(STANDARD).named_parameters()}
    assert "model.layers.1.self_attn.q_proj.weight" in names
    assert not [name for name in names if "semantic" in name]


@pytest.mark.parametrize("change", [{"attention": "mla"}, {"geometric_dim": 15}, {"value_dim": 0}])
def test_refusals(change):
    with pytest.raises(UserError, match="attention|geometric_dim"):
        dataclasses.replace(DECOUPLED, **change)
