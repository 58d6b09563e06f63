"""A memory bank leaves the Thinker alone until it has learnt, and answers alike however it is run."""

import json

import pytest
import torch

from inference import Generator, PromptLookup, SpeculativeGenerator, generate
from inference.config import GenerateConfig
from inference.generation import generate_batch
from inference.memory import attach_memory, set_strategy
from inference.omni import Omni
from inference.prompt import Prompt
from models.errors import UserError
from models.memory import (
    STRATEGIES,
    MemoryAdapter,
    MemoryConfig,
    Route,
    balance_loss,
    mean_pool,
    shuffled,
)
from models.omni import thinker_of
from models.thinker import Thinker, ThinkerConfig

SIZES = ThinkerConfig(
    vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
    num_key_value_heads=1, head_dim=16, intermediate_size=64, max_position_embeddings=64,
)  # fmt: skip
MEMORY = MemoryConfig(num_chapters=6, chapter_size=3, layers=[0, 2], top_k=2, num_heads=2, head_dim=8)


def made(learnt: bool = True) -> MemoryAdapter:
    """A small adapter; `learnt` gives its cross-attention something to say."""
    torch.manual_seed(0)
    adapter = MemoryAdapter.around(Thinker(SIZES).eval(), MEMORY).eval()
    if learnt:
        for layer in adapter.memory.layers:
            torch.nn.init.normal_(layer.attention.o_proj.weight, std=0.5)
    return adapter


def test_a_new_bank_changes_nothing_and_a_learnt_one_does():
    ids = torch.randint(64, (2, 9))
    adapter = made(learnt=False)
    plain = Thinker(SIZES).eval()
    plain.load_state_dict({k: v for k, v in adapter.state_dict().items() if "memory." not in k})
    assert torch.equal(adapter(ids), plain(ids))
    assert not torch.allclose(made()(ids), made(learnt=False)(ids), atol=1e-3)


def test_only_the_memory_learns():
    adapter = made()
    adapter(torch.randint(64, (2, 9))).sum().backward()
    assert all((p.grad is not None) == ("memory." in n) for n, p in adapter.named_parameters())
    assert all(float(layer.router.proj.weight.grad.abs().max()) > 0 for layer in adapter.memory.layers)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_is_answered_as_one_by_one(strategy):
    adapter = set_strategy(made(), strategy, window_size=4)
    prompts = [Prompt([5, 6, 7, 8, 9, 10]), Prompt([11, 12, 13])]
    config = GenerateConfig(max_new_tokens=8, eos_token_id=-1)
    assert generate_batch(adapter, prompts, config) == [generate(adapter, p, config) for p in prompts]


def test_token_routing_through_the_cache_is_the_full_pass():
    adapter, ids = set_strategy(made(), "token"), torch.randint(64, (2, 9))
    cache = adapter.new_cache(2, 16)
    parts = [adapter(part, cache=cache) for part in ids.split([4, 1, 1, 3], dim=1)]
    assert torch.allclose(torch.cat(parts, 1), adapter(ids), atol=1e-5)


def test_sequence_routing_in_the_cache_counts_all_that_was_read():
    adapter, ids = set_strategy(made(), "sequence"), torch.randint(64, (1, 7))
    seen = []
    strategy = adapter.strategies[0]
    plain = strategy.choose
    strategy.choose = lambda history, new, real=None: seen.append(history) or plain(history, new, real)
    cache = adapter.new_cache(1, 16)
    for part in ids.split([5, 1, 1], dim=1):
        adapter(part, cache=cache)
    assert [h.shape[1] for h in seen] == [5, 6, 7]
    assert torch.equal(seen[2][:, :5], seen[0])


def test_routing_in_training_does_not_see_the_answer():
    adapter = made()
    ids = torch.randint(64, (2, 9))
    asked = torch.arange(9)[None].expand(2, 9) < 5
    other = ids.clone()
    other[:, 5:] = (other[:, 5:] + 1) % 64
    first, second = adapter.routed_hidden(ids, asked), adapter.routed_hidden(other, asked)
    assert all(torch.equal(a.logits, b.logits) for a, b in zip(first[1], second[1], strict=True))
    assert torch.allclose(first[0][:, :5], second[0][:, :5], atol=1e-6)


def test_pooling_leaves_padding_out():
    states = torch.randn(2, 4, 3)
    real = torch.tensor([[False, True, True, True]] * 2)
    assert torch.allclose(mean_pool(states, real), states[:, 1:].mean(1))


def test_balance_loss_is_one_where_all_chapters_are_used_alike():
    even = Route(torch.tensor([[0, 1], [2, 3]]), torch.full((2, 2), 0.5), torch.zeros(2, 4))
    crowded = Route(torch.tensor([[0, 1], [0, 1]]), torch.full((2, 2), 0.5),
                    torch.tensor([[9.0, 9, 0, 0]] * 2))  # fmt: skip
    assert float(balance_loss(even, 4)) == pytest.approx(1.0)
    assert float(balance_loss(crowded, 4)) == pytest.approx(2.0, rel=1e-3)


def test_a_shuffled_bank_keeps_its_numbers():
    bank = torch.randn(4, 3, 5)
    dealt = shuffled(bank)
    assert not torch.equal(dealt, bank)
    assert torch.equal(dealt.flatten(0, 1).sort(0).values, bank.flatten(0, 1).sort(0).values)


def test_a_folder_loads_onto_its_own_thinker_only(tmp_path):
    adapter = made()
    adapter.save_pretrained(tmp_path)
    torch.manual_seed(0)
    again = MemoryAdapter.from_pretrained(tmp_path, thinker=Thinker(SIZES).eval())
    assert torch.allclose(again.memory.chapters, adapter.memory.chapters, atol=0.02)
    with pytest.raises(UserError, match="another Thinker"):
        MemoryAdapter.from_pretrained(tmp_path, thinker=Thinker(SIZES))


def test_a_rounded_thinker_is_told_from_another(tmp_path, nano_omni_dir):
    thinker = thinker_of(Omni.from_pretrained(nano_omni_dir).model)
    MemoryAdapter.around(thinker, MemoryConfig(num_chapters=4, layers=[0])).save_pretrained(tmp_path)
    attach_memory(Omni.from_pretrained(nano_omni_dir, dtype="int8"), tmp_path)
    values = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(values | {"base_model": "0" * 16}))
    with pytest.raises(UserError, match="another Thinker"):
        attach_memory(Omni.from_pretrained(nano_omni_dir, dtype="int8"), tmp_path)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_draft_goes_with_a_bank_that_routes_token_by_token_alone(strategy):
    """Several guesses are read at once: other strategies would route on the wrong ones."""
    adapter = set_strategy(made(), strategy)
    if strategy != "token":
        with pytest.raises(UserError, match="--routing_strategy token"):
            SpeculativeGenerator(adapter, PromptLookup())
        return
    prompt, asked = Prompt([1, 5, 9, 5, 9, 5]), GenerateConfig(max_new_tokens=24, native="off")
    assert list(SpeculativeGenerator(adapter, PromptLookup(), asked).stream(prompt)) == list(
        Generator(adapter, asked).stream(prompt)
    )


@pytest.mark.parametrize(
    "values", [{"top_k": 30}, {"num_chapters": 0}, {"routing_strategy_inference": "best"},
               {"routing_strategy_train": "token"}, {"window_size": 0}]
)  # fmt: skip
def test_impossible_settings_are_refused(values):
    with pytest.raises(UserError):
        MemoryConfig(**values)


def test_layers_that_are_not_there_are_refused():
    with pytest.raises(UserError, match="blocks 0 to 2"):
        MemoryAdapter(SIZES, MemoryConfig(layers=[3]))


def test_the_shipped_bank_answers_and_a_shuffled_one_does_not():
    from data.invented_world import all_questions, right
    from evaluation.asking import Asker, user_turn
    from inference.memory import ROOT, attach_memory

    omni = Omni.from_pretrained()
    try:
        adapter = attach_memory(omni, ROOT / "checkpoints" / "memory_tiny")
    except UserError as error:
        pytest.skip(str(error))
    asked = all_questions("test")[::9]
    asker = Asker(omni, max_new_tokens=24)

    def share() -> float:
        replies = asker.ask([user_turn(text) for _, text in asked], "facts")
        return sum(right(r, f) for r, (f, _) in zip(replies, asked, strict=True)) / len(asked)

    assert share() >= 0.75
    adapter.memory.chapters.data = shuffled(adapter.memory.chapters)
    assert share() <= 0.2
    assert thinker_of(omni.model) is adapter
