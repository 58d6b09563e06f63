"""Generation: the cache changes nothing, nor does a batch; replies hold neither prompt nor eos."""

import dataclasses

import pytest
import torch

from inference import GenerateConfig, Generator, Notice, generate, generate_batch, generate_iter
from inference.generation import prefill
from inference.prompt import Prompt
from inference.runner import Runner
from models.errors import UserError
from models.omni import thinker_of
from tests.inference.conftest import picture, tone
from tests.inference.turns import first_turn


def prompts(omni) -> list[Prompt]:
    """Of different lengths: text, two pictures and a sound, one picture, a sound alone."""
    config = omni.config()
    return [
        first_turn(omni, "hello there", None, None, None, None, config),
        first_turn(omni, "a", [picture(1), picture(2)], (tone(300), 16_000), None, "be kind", config),
        first_turn(omni, "what is this?", picture(3), None, None, None, config),
        first_turn(omni, None, None, (tone(700, 0.3), 16_000), None, None, config),
    ]


def fresh(model, prompt: Prompt) -> Runner:
    """An empty cache of a prompt's length, for PyTorch."""
    return Runner(thinker_of(model), thinker_of(model).new_cache(1, len(prompt)))


@torch.inference_mode()
def uncached(omni, prompt: Prompt, config: GenerateConfig) -> list[int]:
    """Greedy decoding that runs the whole sequence again for every token."""
    model, reply = omni.model, []
    while len(reply) < config.max_new_tokens:
        grown = Prompt(prompt.ids + reply, prompt.images, prompt.sounds)
        logits = prefill(model, [grown], fresh(model, grown))
        logits[:, list(config.suppress_tokens)] = float("-inf")
        token = int(logits.argmax())
        if token == config.eos_token_id:
            break
        reply.append(token)
    return reply


def test_cached_equals_uncached_and_batch_equals_single(omni):
    config = omni.config(max_new_tokens=24, num_beams=1)
    all_prompts = prompts(omni)
    expected = [uncached(omni, prompt, config) for prompt in all_prompts]
    assert len({tuple(reply) for reply in expected}) == 4, "the nano model ignores its prompts"
    assert [generate(omni.model, prompt, config) for prompt in all_prompts] == expected
    assert generate_batch(omni.model, all_prompts, config) == expected
    assert generate_batch(omni.model, all_prompts[::-1], config) == expected[::-1]
    assert generate_batch(omni.model, [], config) == []


def test_sampled_batch_equals_single_and_seed_decides(omni):
    config = omni.config(max_new_tokens=16, temperature=1.0, top_k=40, top_p=0.95, seed=3)
    all_prompts = prompts(omni)
    single = [generate(omni.model, prompt, config) for prompt in all_prompts]
    assert generate_batch(omni.model, all_prompts, config) == single
    other = dataclasses.replace(config, seed=4)
    assert generate(omni.model, all_prompts[0], other) != single[0]


def test_eos_ends_the_reply_even_as_first_token(omni):
    config = omni.config(max_new_tokens=12)
    prompt = prompts(omni)[0]
    reply = generate(omni.model, prompt, config)
    assert generate(omni.model, prompt, dataclasses.replace(config, eos_token_id=reply[0])) == []
    later = next(token for token in reply if token != reply[0])
    config = dataclasses.replace(config, eos_token_id=later)
    assert generate(omni.model, prompt, config) == reply[: reply.index(later)]
    assert generate_batch(omni.model, [prompt, prompt], config)[1] == reply[: reply.index(later)]


def test_iterates_as_it_goes(omni):
    config = omni.config(max_new_tokens=8)
    prompt = prompts(omni)[0]
    stream = generate_iter(omni.model, prompt, config)
    first = next(stream)
    assert [first, *stream] == generate(omni.model, prompt, config)


def test_context_full_stops_with_a_notice_in_batch_and_single(omni):
    prompt = prompts(omni)[0]
    config = omni.config(max_new_tokens=50, max_seq_len=len(prompt) + 10)
    with pytest.warns(Notice, match="context is full"):
        single = generate(omni.model, prompt, config)
    with pytest.warns(Notice, match="context is full"):
        batch = generate_batch(omni.model, [prompt, Prompt(prompt.ids[:5])], config)
    assert len(single) == 10
    assert batch[0] == single
    assert len(batch[1]) == len(prompt) + 5
    with pytest.raises(UserError, match="tokens"):
        generate(omni.model, prompt, omni.config(max_seq_len=len(prompt)))
    with pytest.raises(UserError, match="empty"):
        generate(omni.model, Prompt([]), config)


def test_generator_continues_and_resets(omni):
    config = omni.config(max_new_tokens=6)
    first, second = Prompt([1, 40, 50, 60]), Prompt([70, 80])
    generator = Generator(omni.model, config)
    one = generator.generate(first)
    two = generator.generate(second)
    assert generator.timing.prompt_tokens == len(second) + 1  # the last reply's last token was never run
    assert two == generate(omni.model, Prompt(first.ids + one + second.ids), config)
    assert generator.position == len(first) + len(one) + len(second) + len(two)
    generator.reset()
    assert generator.generate(first) == one


def test_an_abandoned_stream_leaves_a_usable_context(omni):
    config = omni.config(max_new_tokens=10)
    generator = Generator(omni.model, config)
    stream = generator.stream(Prompt([1, 40, 50]))
    said = [next(stream), next(stream), next(stream)]
    stream.close()
    rest = generator.generate(Prompt([90]))
    assert rest == generate(omni.model, Prompt([1, 40, 50, *said, 90]), config)


def test_prefill_in_chunks_gives_the_same_logits_and_replies(omni):
    model = omni.model
    all_prompts = prompts(omni)
    for prompt in all_prompts:
        whole = prefill(model, [prompt], fresh(model, prompt))
        for chunk in (1, 7, len(prompt) + 5):
            run = fresh(model, prompt)
            assert torch.allclose(prefill(model, [prompt], run, chunk=chunk), whole, atol=1e-4)
            assert run.cache.length == len(prompt)
    config = omni.config(max_new_tokens=8)
    chunked = dataclasses.replace(config, prefill_chunk=5)
    expected = generate_batch(model, all_prompts, config)
    assert generate_batch(model, all_prompts, chunked) == expected
    assert [generate(model, prompt, chunked) for prompt in all_prompts] == expected


def test_repetition_penalty_forbids_what_was_read_and_said_in_batch_and_single(omni):
    config = omni.config(max_new_tokens=16, repetition_penalty=1e6)
    for prompt, reply in zip(prompts(omni), generate_batch(omni.model, prompts(omni), config)):
        assert len(set(reply)) == len(reply)
        assert not set(reply) & set(prompt.ids)
        assert reply == generate(omni.model, prompt, config)


@pytest.mark.parametrize("kind", ["fp32", "q8_0", "bf16/nf4"])
def test_batch_equals_single_with_any_cache_kind(omni, kind):
    config = omni.config(max_new_tokens=10, cache_kind=kind)
    single = [generate(omni.model, prompt, config) for prompt in prompts(omni)]
    assert generate_batch(omni.model, prompts(omni), config) == single
    generator = Generator(omni.model, config)
    plain = Generator(omni.model, omni.config())
    assert (generator.cache.nbytes == plain.cache.nbytes) == (kind == "fp32")


def test_timing_counts_what_was_run(omni):
    generator = Generator(omni.model, omni.config(max_new_tokens=5))
    reply = generator.generate(Prompt([1, 40, 50]))
    assert (generator.timing.prompt_tokens, generator.timing.tokens) == (3, len(reply))
    generator.generate(Prompt([60]))
    assert generator.timing.prompt_tokens == 2  # the last token of the reply, and the new one
    assert f"Tokens generated: {generator.timing.tokens}" in generator.timing.block()
