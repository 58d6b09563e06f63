"""Speculative decoding: the model's own answers and distribution, whatever the draft."""

import dataclasses

import pytest
import torch

from export import draft_table
from inference import Generator, PromptLookup, SpeculativeConfig, SpeculativeGenerator, ThinkerDraft
from inference.speculative.config import speculative
from inference.speculative.generator import accept
from models.errors import UserError
from models.thinker import Thinker
from tests.inference.test_generate import prompts

DRAWS = 4000


def spec(config, **fields) -> SpeculativeConfig:
    """The config with these `spec_` fields."""
    return speculative(config, SpeculativeConfig(**fields))


def frequencies(
    drafted_from: torch.Tensor | None, p: torch.Tensor, method: str = "reject_sampling"
) -> torch.Tensor:
    """How often each first token comes out, over DRAWS rounds of one guess."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(p.shape[-1])
    for _ in range(DRAWS):
        if drafted_from is None:
            token = 1
        else:
            token = int(torch.multinomial(drafted_from[0], 1, generator=generator))
        counts[accept([token], drafted_from, p, generator, method)[0]] += 1
    return counts / DRAWS


@pytest.mark.parametrize("method", ["reject_sampling", "exact_match"])
@pytest.mark.parametrize("certain", [True, False])
def test_the_distribution_is_the_models_own(certain, method):
    p = torch.tensor([[0.5, 0.3, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25]])
    q = torch.tensor([[0.1, 0.2, 0.1, 0.6]])  # a bad draft
    got = frequencies(None if certain else q, p, method)
    spread = (p[0] * (1 - p[0]) / DRAWS).sqrt()
    assert ((got - p[0]).abs() < 4 * spread).all()


def test_a_perfect_draft_is_accepted_whole_with_one_token_more():
    p = torch.eye(4)
    assert accept([0, 1, 2], p[:3], p, torch.Generator()) == [0, 1, 2, 3]
    assert accept([0, 2, 2], None, p, torch.Generator()) == [0, 1]


def weak(omni) -> Thinker:
    """A draft of the same vocabulary that guesses wrong now and then."""
    torch.manual_seed(1)
    thinker = Thinker(omni.model.thinker.config)
    thinker.load_state_dict(omni.model.thinker.state_dict())
    with torch.no_grad():
        for parameter in thinker.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    return thinker.eval()


@pytest.mark.parametrize("kind", ["lookup", "weak", "same"])
@pytest.mark.parametrize("penalty", [1.0, 1.3])
def test_greedy_output_is_identical_over_media_and_turns(omni, kind, penalty):
    drafts = {
        "lookup": PromptLookup,
        "weak": lambda: ThinkerDraft(weak(omni)),
        "same": lambda: ThinkerDraft(omni.model.thinker),
    }
    config = omni.config(max_new_tokens=20, repetition_penalty=penalty)
    speculative = SpeculativeGenerator(omni.model, drafts[kind](), spec(config, spec_k=3))
    plain = Generator(omni.model, config)
    for prompt in prompts(omni):
        assert speculative.generate(prompt) == plain.generate(prompt)
        assert speculative.ids == plain.ids
    if kind == "same" and penalty == 1.0:
        assert speculative.passes < 20
    speculative.reset()
    plain.reset()
    assert speculative.generate(prompts(omni)[0]) == plain.generate(prompts(omni)[0])


def test_good_drafts_save_passes_and_useless_ones_are_left(omni):
    config = omni.config(max_new_tokens=40)
    prompt = prompts(omni)[0]
    good = SpeculativeGenerator(omni.model, omni.model.thinker, spec(config))  # a model is a draft
    reply = good.generate(prompt)
    assert good.acceptance_rate > 0.8  # its own draft is wrong only where rounding ties
    assert good.passes < len(reply) / 2

    class Wrong(PromptLookup):
        def propose(self, context, count, config, generator):
            return [5] * count, None

    wrong = SpeculativeGenerator(omni.model, Wrong(), spec(config))
    assert wrong.generate(prompt) == reply
    assert 24 <= wrong.guessed <= 28


def test_an_end_token_inside_the_guesses_ends_the_reply(omni):
    prompt = prompts(omni)[0]
    reply = Generator(omni.model, omni.config(max_new_tokens=12)).generate(prompt)
    config = dataclasses.replace(omni.config(max_new_tokens=12), eos_token_id=reply[6])
    draft = ThinkerDraft(omni.model.thinker)
    generator = SpeculativeGenerator(omni.model, draft, spec(config, spec_k=6))
    assert generator.generate(prompt) == reply[: reply.index(reply[6])]
    assert generator.cache.length <= generator.position


def test_lookup_copies_what_followed():
    propose = PromptLookup().propose
    assert propose([1, 2, 3, 4, 5, 9, 2, 3], 2, None, None)[0] == [4, 5]
    assert propose([1, 2, 3, 4], 2, None, None)[0] == []


def test_omni_with_a_draft_answers_the_same(omni, red, nano_text_dir, tmp_path):
    table = tmp_path / "table.safetensors"
    counting = ["--conversations", "300", "--scenes", "30", "--ckpt_dir", str(omni.folder)]
    assert draft_table.main([*counting, "--out", str(table)]) == 0
    requests = [{"text": "hello"}, {"text": "it?", "image": red}]
    expected = [omni.chat(**request, max_new_tokens=16) for request in requests]
    try:
        for source in ("lookup", table, nano_text_dir):
            omni.use_draft(source)
            assert [omni.chat(**request, max_new_tokens=16) for request in requests] == expected
    finally:
        omni.new_generator = Generator
    with pytest.raises(UserError, match="spec_k"):
        SpeculativeConfig(spec_k=0)


def test_rounds_without_an_extra_token_answer_the_same(omni):
    config = omni.config(max_new_tokens=30)
    prompt = prompts(omni)[0]
    plain = Generator(omni.model, config).generate(prompt)
    passes = []
    for extra in (True, False):
        fixed = spec(config, spec_extra_token=extra, spec_k_adaptive=False)
        generator = SpeculativeGenerator(omni.model, omni.model.thinker, fixed)
        assert generator.generate(prompt) == plain
        passes.append(generator.passes)
    assert passes[0] < passes[1], "the extra token saves passes"
