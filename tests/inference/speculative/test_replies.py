"""Replies with a draft obey every setting, as replies without one do."""

import dataclasses

import pytest
import torch

from inference import (
    Generator,
    Notice,
    PromptLookup,
    SpeculativeConfig,
    SpeculativeGenerator,
    ThinkerDraft,
)
from inference.config import GenerateConfig
from inference.prompt import Prompt
from inference.speculative.config import speculative
from inference.speculative.generator import accept
from models.omni import TRANSCRIBE_QUESTION
from models.thinker import Thinker, ThinkerConfig
from tests.inference.conftest import speech
from tests.inference.test_generate import prompts
from tests.inference.turns import first_turn

DRAWS = 4000


def guessing(omni, config: GenerateConfig, **fields) -> SpeculativeGenerator:
    """A generator whose draft is the model itself."""
    config = speculative(config, SpeculativeConfig(**fields))
    return SpeculativeGenerator(
        omni.model, ThinkerDraft(omni.model.thinker), config, tokenizer=omni.tokenizer
    )


@pytest.mark.parametrize("filters", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
@pytest.mark.parametrize("draft", ["lookup", "same"])
def test_the_strictest_filter_is_greedy(omni, filters, draft):
    prompt = prompts(omni)[0]
    greedy = Generator(omni.model, omni.config(max_new_tokens=16)).generate(prompt)
    config = omni.config(max_new_tokens=16, **{"temperature": 1.0, "seed": 1} | filters)
    source = PromptLookup() if draft == "lookup" else omni.model.thinker
    assert SpeculativeGenerator(omni.model, source, config).generate(prompt) == greedy


def test_the_seed_decides(omni):
    prompt = prompts(omni)[0]

    def reply(seed: int) -> list[int]:
        settings = {"temperature": 1.0, "top_k": 40, "seed": seed}
        return guessing(omni, omni.config(max_new_tokens=16, **settings)).generate(prompt)

    assert reply(3) == reply(3)
    assert reply(3) != reply(4)


def test_a_stop_string_ends_the_reply(omni):
    prompt, decode = prompts(omni)[0], omni.tokenizer.decode
    whole = Generator(omni.model, omni.config(max_new_tokens=24)).generate(prompt)
    stop = decode(whole)[len(decode(whole)) // 2 :][:4]
    config = omni.config(max_new_tokens=24, stop_strings=(stop,))
    expected = Generator(omni.model, config, tokenizer=omni.tokenizer).generate(prompt)
    assert guessing(omni, config, spec_k=6).generate(prompt) == expected
    assert len(expected) < len(whole)


def test_a_full_context_is_told(omni):
    prompt = prompts(omni)[0]
    config = omni.config(max_new_tokens=50, max_seq_len=len(prompt) + 10)
    with pytest.warns(Notice, match="context is full"):
        reply = guessing(omni, config).generate(prompt)
    assert len(reply) == 10


def test_beams_are_followed_without_guesses(omni):
    prompt = prompts(omni)[1]
    config = omni.config(max_new_tokens=10, num_beams=3)
    generator = guessing(omni, config)
    assert generator.generate(prompt) == Generator(omni.model, config).generate(prompt)
    assert generator.passes == generator.guessed == 0


def test_transcripts_are_the_same(omni):
    sound = (speech(), 16_000)
    prompt = first_turn(omni, TRANSCRIBE_QUESTION, audio=sound)
    config = omni.config(max_new_tokens=10)
    expected = Generator(omni.model, config, tokenizer=omni.tokenizer).generate(prompt)
    generator = SpeculativeGenerator(omni.model, PromptLookup(), config, tokenizer=omni.tokenizer)
    assert generator.generate(first_turn(omni, TRANSCRIBE_QUESTION, audio=sound)) == expected
    assert expected != Generator(omni.model, dataclasses.replace(config, num_beams=1)).generate(prompt)


def test_guesses_do_not_cross_into_another_window():
    torch.manual_seed(0)
    thinker = Thinker(ThinkerConfig(128, 32, 2, 4, 2, 16, 48, 128)).eval()
    for weight in thinker.parameters():
        if weight.dim() > 1:
            weight.data.mul_(5)  # far from uniform logits, so that a difference shows
    plan = {"decode_plan": "fixed", "decode_table": "20:0:0,max:0:6"}
    config = GenerateConfig(max_new_tokens=30, eos_token_id=None, **plan)
    prompt = Prompt([1, *range(40, 48)])
    expected = Generator(thinker, config).generate(prompt)
    config = speculative(config, SpeculativeConfig(spec_k=8))
    generator = SpeculativeGenerator(thinker, ThinkerDraft(thinker), config)
    assert generator.generate(prompt) == expected
    assert generator.right > 0


def test_the_second_guess_is_judged_by_its_own_distribution():
    p = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    q = torch.stack([p[0], torch.tensor([0.4, 0.1, 0.4, 0.1])])  # the first guess always stands
    generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(4)
    for _ in range(DRAWS):
        drafted = [int(torch.multinomial(row, 1, generator=generator)) for row in q]
        first, second, *_ = accept(drafted, q, p, generator)
        assert first == drafted[0]
        counts[second] += 1
    spread = (p[1] * (1 - p[1]) / DRAWS).sqrt()
    assert ((counts / DRAWS - p[1]).abs() < 4 * spread).all()
