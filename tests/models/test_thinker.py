"""The Thinker: equal to transformers' Qwen3, cached equals full, padding changes nothing."""

import json

import pytest
import torch

from models.errors import UserError
from models.thinker import Thinker, ThinkerConfig

SMALL = ThinkerConfig(
    vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=16, intermediate_size=48, max_position_embeddings=64,
)


def make(config: ThinkerConfig = SMALL) -> Thinker:
    torch.manual_seed(0)
    thinker = Thinker(config).eval()
    for weight in thinker.parameters():
        if weight.dim() > 1:
            weight.data.mul_(5)  # far from uniform logits, so that a difference shows
    return thinker


@torch.no_grad()
def test_texts_packed_into_a_row_do_not_see_each_other():
    thinker = make()
    one, other = torch.randint(4, 128, (1, 9)), torch.randint(4, 128, (1, 5))
    row = thinker.embed(torch.cat([one, other], 1))
    packed = torch.tensor([[7] * 9 + [2] * 5])
    apart = torch.cat([thinker.hidden(thinker.embed(ids)) for ids in (one, other)], 1)
    assert torch.allclose(thinker.hidden(row, packed=packed), apart, atol=1e-5)
    assert not torch.allclose(thinker.hidden(row), apart, atol=1e-2)


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_logits_equal_transformers(tmp_path, tied):
    from transformers import AutoModelForCausalLM

    thinker = make(ThinkerConfig(**{**vars(SMALL), "tie_word_embeddings": tied}))
    thinker.save_pretrained(tmp_path, dtype=torch.float32)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = torch.randint(4, 128, (2, 20))
    assert torch.allclose(thinker(ids), theirs(ids).logits, atol=1e-4)
    assert torch.equal(Thinker.from_pretrained(tmp_path)(ids), thinker(ids))


@torch.no_grad()
def test_an_output_matrix_of_its_own_is_never_dropped(tmp_path):
    """Without `tie_word_embeddings` a Qwen3 is untied, as for transformers; a false claim is refused."""
    from transformers import AutoModelForCausalLM

    thinker = make(ThinkerConfig(**{**vars(SMALL), "tie_word_embeddings": False}))
    thinker.save_pretrained(tmp_path, dtype=torch.float32)
    path, ids = tmp_path / "config.json", torch.randint(4, 128, (1, 12))
    values = json.loads(path.read_text())
    del values["tie_word_embeddings"]
    path.write_text(json.dumps(values))
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    assert torch.allclose(Thinker.from_pretrained(tmp_path)(ids), theirs(ids).logits, atol=1e-4)
    path.write_text(json.dumps(values | {"tie_word_embeddings": True}))
    with pytest.raises(UserError, match="is not the embeddings'"):
        Thinker.from_pretrained(tmp_path)


@torch.no_grad()
def test_loads_what_transformers_saves_in_shards(tmp_path):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, intermediate_size=48, max_position_embeddings=64,
        tie_word_embeddings=True,
    )
    theirs = Qwen3ForCausalLM(config).eval().float()
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    ids = torch.randint(4, 128, (1, 12))
    assert torch.allclose(Thinker.from_pretrained(tmp_path)(ids), theirs(ids).logits, atol=1e-4)


@torch.no_grad()
def test_cached_equals_full():
    thinker, ids = make(), torch.randint(4, 128, (2, 20))
    cache = thinker.new_cache(2, 20)
    parts = [thinker(ids[:, :7], cache=cache), thinker(ids[:, 7:12], cache=cache)]
    parts += [thinker(ids[:, t : t + 1], cache=cache) for t in range(12, 20)]
    assert torch.allclose(torch.cat(parts, 1), thinker(ids), atol=1e-4)


@torch.no_grad()
def test_left_padding_changes_nothing_even_with_a_cache():
    thinker, ids = make(), torch.randint(4, 128, (1, 10))
    padded = torch.cat([torch.full((1, 5), 3), ids], 1)
    mask = (torch.arange(15) >= 5)[None]
    full = thinker(ids)
    assert torch.allclose(thinker(padded, attention_mask=mask)[:, 5:], full, atol=1e-4)
    cache = thinker.new_cache(1, 15)
    thinker(padded[:, :9], attention_mask=mask[:, :9], cache=cache)
    rest = thinker(padded[:, 9:], attention_mask=mask, cache=cache)
    assert torch.allclose(rest, full[:, 4:], atol=1e-4)


@pytest.mark.parametrize(
    ("key", "value"),
    [("rope_theta", "x"), ("rope_theta", []), ("max_position_embeddings", []), ("vocab_size", 2.5),
     ("num_hidden_layers", 10**40), ("hidden_size", 2**23), ("head_dim", True), ("rms_norm_eps", {})],
)  # fmt: skip
def test_wrong_values_of_a_text_checkpoint_are_told_before_anything_is_built(key, value, tmp_path):
    make().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(UserError) as told:
        Thinker.from_pretrained(tmp_path)
    assert "expected" in str(told.value) if key == "hidden_size" else key in str(told.value)
    assert len(str(told.value)) < 400


def test_a_full_cache_says_so():
    thinker = make()
    with pytest.raises(UserError, match="full"):
        thinker(torch.zeros(1, 5, dtype=torch.long), cache=thinker.new_cache(1, 4))


@pytest.mark.parametrize("change", ["missing", "unexpected", "shape"])
def test_a_key_that_does_not_fit_is_named(tmp_path, change):
    from safetensors.torch import load_file, save_file

    make().save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    key = "model.layers.1.mlp.up_proj.weight"
    if change == "missing":
        del tensors[key]
    elif change == "unexpected":
        key = "model.layers.7.mlp.up_proj.weight"
        tensors[key] = torch.zeros(2)
    else:
        tensors[key] = torch.zeros(3, 3)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=key):
        Thinker.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("rope_scaling", {"rope_type": "yarn", "factor": 4.0}, "RoPE"), ("hidden_act", "gelu", "silu")],
)
def test_a_config_that_changes_the_maths_is_refused(key, value, words, tmp_path):
    make().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(UserError, match=words):
        Thinker.from_pretrained(tmp_path)
