"""Guide S1, a mini-LLM's generator: the rows that tests/inference/test_guides.py does not run.

As documented; `inference.generate` is `inference` here, for a function has that name.
"""

from dataclasses import replace

import pytest
import torch

from inference import Generator, generate, generate_stream
from inference.sampling import apply_top_k, apply_top_p, sample_top_p
from inference.tutorial import ThinkerLM
from models.errors import UserError

NINE_TENTHS = 0.8999  # the first four of the seven are 0.9 up to rounding
TAIL = torch.tensor([[0.40, 0.25, 0.15, 0.10, 0.05, 0.03, 0.02]])  # the guide's seven tokens
TASKS = [(0.1, 0.8), (0.5, 0.9), (0.7, 0.9), (0.9, 0.95), (1.0, 0.95), (1.5, 1.0)]  # temperature, top-p


def test_top_p_keeps_four_of_seven():
    kept = apply_top_p(TAIL.log(), NINE_TENTHS).softmax(-1)
    assert kept[0, :4].tolist() == pytest.approx([4 / 9, 2.5 / 9, 1.5 / 9, 1 / 9], abs=1e-4)
    assert not kept[0, 4:].any()
    drawn = {int(sample_top_p(TAIL, NINE_TENTHS)) for _ in range(200)}
    assert drawn <= {0, 1, 2, 3} and len(drawn) > 1


def test_top_p_always_keeps_the_likeliest():
    """As the documented mask does, which counts only what stands before a token."""
    assert sample_top_p(TAIL, 0.0).tolist() == [[0]]
    assert sample_top_p(TAIL[0], 0.0).tolist() == [0]


def test_top_k_keeps_k():
    assert (apply_top_k(TAIL.log(), 3).softmax(-1) > 0).sum() == 3


@pytest.mark.parametrize("temperature, top_p", TASKS)
@pytest.mark.parametrize("max_new_tokens", [3, 6])
def test_hyperparameters(env, temperature, top_p, max_new_tokens):
    given = {"temperature": temperature, "top_p": top_p, "max_new_tokens": max_new_tokens}
    assert isinstance(generate(env.model, env.tokenizer, "Hello", **given), str)


def test_arguments_by_their_places(env):
    gen = Generator(str(env.folder), str(env.folder), "cpu")
    by_name = {"max_new_tokens": 6, "temperature": 0.7, "top_p": 0.9}
    config = replace(gen.config, seed=0)
    gen.config = config
    assert gen.generate("Once", 6, 0.7, 0.9) == gen.generate(prompt="Once", **by_name)
    assert gen.generate("Once", 1) == gen.generate("Once", max_new_tokens=1)
    assert gen.config == config


def test_a_checkpoint_file_names_its_folder(env):
    gen = Generator(checkpoint_path=env.folder / "model.safetensors", tokenizer_path=env.folder)
    assert isinstance(gen.generate("Once upon a time", max_new_tokens=3), str)


def test_a_pickled_checkpoint_is_refused_in_one_line(tmp_path):
    torch.save({"model": {}, "model_args": {}}, tmp_path / "ckpt.pt")
    with pytest.raises(UserError):
        Generator(checkpoint_path=tmp_path / "ckpt.pt", tokenizer_path=tmp_path)


def test_the_cache_is_passed_by_hand(env):
    model = ThinkerLM(env.model.thinker)
    whole = model(env.input_ids)
    logits, past_kv = model(env.input_ids[:, :3], use_cache=True)
    logits, past_kv = model(env.input_ids[:, 3:], use_cache=True, past_kv=past_kv)
    assert torch.allclose(logits[:, -1], whole[:, -1], atol=1e-4)


def test_memory_of_the_cache(env):
    c, length = env.model.thinker.config, 64
    cache = env.model.thinker.new_cache(1, length, "bf16")
    expected = 2 * c.num_hidden_layers * length * c.num_key_value_heads * c.head_dim * 2
    assert cache.nbytes == expected


def test_beam_search_and_greedy(env):
    model, ids = ThinkerLM(env.model.thinker), env.input_ids
    for _ in range(4):
        ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], dim=1)
    given = {"max_new_tokens": 4, "eos_token_id": None}
    assert torch.equal(generate(env.model, env.input_ids, **given), ids)
    beams = generate(env.model, env.input_ids, num_beams=3, **given)

    def likelihood(row):
        scores = model(row)[0, 3:-1].log_softmax(-1)
        return scores.gather(-1, row[0, 4:, None]).sum()

    assert beams.shape[1] == 8 and likelihood(beams) >= likelihood(ids)


def test_streaming_prints_token_by_token(env):
    shown = [env.tokenizer.decode([t]) for t in generate_stream(env.model, env.input_ids, max_new_tokens=4)]
    assert 1 <= len(shown) <= 4 and all(isinstance(piece, str) for piece in shown)


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_batches_answer_as_alone(env, batch_size):
    gen = Generator.from_checkpoint(env.folder)
    prompts = ["Hello", "How are", "The cat"]
    said = gen.generate_batch(prompts, batch_size=batch_size, max_new_tokens=4)
    assert said == [gen.generate(prompt, max_new_tokens=4) for prompt in prompts]
