"""Beam search: the best of all answers where all can be tried, transformers' elsewhere."""

import itertools

import pytest
import torch

from inference import generate
from inference.beams import AUDIO_BEAMS, Search, beam_search, beams_for
from inference.config import GenerateConfig
from inference.generation import Generator, generate_batch, new_cache, prefill
from inference.omni import SHIPPED, Omni
from inference.prompt import Prompt
from inference.runner import Runner
from models.errors import UserError
from models.omni import TRANSCRIBE_QUESTION
from models.thinker import Thinker, ThinkerConfig
from tests.inference.turns import first_turn, plain_turn

EOS = 2
WORDS = 6  # of the smallest vocabulary, the end among them


@pytest.fixture(scope="module")
def thinker() -> Thinker:
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    more = {"num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 48}
    model = Thinker(ThinkerConfig(vocab_size=WORDS, **sizes, **more)).eval()
    torch.nn.init.normal_(model.model.embed_tokens.weight, std=1.0)  # clear preferences
    return model


@pytest.fixture(scope="module")
def omni() -> Omni:
    return Omni.from_pretrained()


@pytest.fixture(scope="module")
def heard(omni) -> list[Prompt]:
    """A sound whose transcript is asked for, and the same sound alone: prompts of two lengths."""
    config = omni.config()
    sound = SHIPPED.parent.parent / "examples" / "question.wav"
    return [first_turn(omni, text, None, sound, None, None, config) for text in (TRANSCRIBE_QUESTION, None)]


def search(thinker, ids: list[int], width: int, limit: int) -> list[int]:
    config = GenerateConfig(eos_token_id=EOS)
    cache = new_cache(thinker, 1, len(ids), config)
    run = Runner(thinker, cache)
    logits = prefill(thinker, [Prompt(ids)], run)
    (reply,) = beam_search(run, logits, [Search(width, limit, EOS)], config)
    assert cache.length == len(ids)  # the prompt's cache stays as it was
    return reply


@torch.inference_mode()
def score(thinker, ids: list[int], reply: list[int], limit: int) -> float:
    """Log-probability per token, of the end too where the answer is not cut off."""
    said = reply if len(reply) == limit else [*reply, EOS]
    logits = thinker(torch.tensor([ids + said]))[0, len(ids) - 1 : -1]  # (n, V)
    steps = logits.log_softmax(-1).gather(1, torch.tensor(said)[:, None])
    return float(steps.sum()) / len(said)


@pytest.mark.parametrize("ids", [[1], [1, 4, 5], [3, 3]])
def test_a_wide_search_finds_the_best_of_all_answers(thinker, ids):
    limit, others = 3, [token for token in range(WORDS) if token != EOS]
    answers = [list(a) for n in range(limit + 1) for a in itertools.product(others, repeat=n)]
    best = max(answers, key=lambda answer: score(thinker, ids, answer, limit))
    assert search(thinker, ids, WORDS**limit, limit) == best


def test_a_width_of_one_is_greedy(thinker):
    config = GenerateConfig(eos_token_id=EOS, max_new_tokens=12)
    for first in range(WORDS):
        assert search(thinker, [1, first], 1, 12) == generate(thinker, Prompt([1, first]), config)


def test_equals_transformers():
    from transformers import AutoModelForCausalLM

    ours = Omni.from_pretrained(SHIPPED.parent / "thinker_tiny")
    theirs = AutoModelForCausalLM.from_pretrained(ours.folder).eval()
    config = ours.config(num_beams=3, max_new_tokens=16, suppress_tokens=())
    for text in ("Who are you?", "What is two plus six?", "Tell me about the sea."):
        prompt = first_turn(ours, text, None, None, None, None, config)
        more = {"num_beams": 3, "do_sample": False, "max_new_tokens": 16, "pad_token_id": 3}
        (whole,) = theirs.generate(torch.tensor([prompt.ids]), eos_token_id=EOS, **more).tolist()
        reply = [token for token in whole[len(prompt) :] if token not in (EOS, 3)]
        assert generate(ours.model, prompt, config) == reply


def test_an_answer_ends_with_the_context(thinker):
    prompts = [Prompt([1, 4, 5]), Prompt([3, 3])]
    config = GenerateConfig(
        num_beams=2, max_new_tokens=20, max_seq_len=6, eos_token_id=EOS, suppress_tokens=(EOS,)
    )
    replies = generate_batch(thinker, prompts, config)
    assert [len(reply) for reply in replies] == [3, 4]
    assert [Generator(thinker, config).generate(prompt) for prompt in prompts] == replies


def test_an_end_that_would_not_be_followed_ends_nothing():
    candidates = [(-1.0, 0, 5), (-1.1, 1, 3), (-1.2, 0, EOS), (-1.3, 1, 4)]
    search = Search(2, 10, EOS)
    assert search.advance(candidates) == candidates[:2]
    assert search.ended == []
    search = Search(2, 10, EOS)
    assert search.advance([candidates[2], *candidates[:2], candidates[3]]) == candidates[:2]
    assert search.ended == [(-1.2, [])]


def test_sounds_are_searched_and_texts_are_not(heard):
    text = Prompt([1, 5])
    assert beams_for(GenerateConfig(), heard[0]) == AUDIO_BEAMS
    assert beams_for(GenerateConfig(), text) == beams_for(GenerateConfig(), heard[1]) == 1
    assert beams_for(GenerateConfig(num_beams=1), heard[0]) == 1
    assert beams_for(GenerateConfig(num_beams=3), text) == 3
    assert beams_for(GenerateConfig(temperature=0.7), heard[0]) == 1


def test_a_batch_answers_as_one_by_one(omni, heard):
    config = omni.config(max_new_tokens=24)
    prompts = [*heard, first_turn(omni, "Who are you?", None, None, None, None, config)]
    alone = [generate(omni.model, prompt, config) for prompt in prompts]
    assert generate_batch(omni.model, prompts, config) == alone
    assert len(set(map(tuple, alone))) == 3


def test_every_kind_of_cache_can_be_searched(omni, heard):
    exact = generate(omni.model, heard[0], omni.config(max_new_tokens=8))
    kept = generate(omni.model, heard[0], omni.config(max_new_tokens=8, cache_kind="q8_0"))
    assert kept == exact


def test_the_conversation_goes_on_from_the_answer(omni, heard):
    config = omni.config(max_new_tokens=24)
    talk = Generator(omni.model, config)
    reply = talk.generate(heard[0])
    more = Prompt([EOS]) + plain_turn(omni, "Who are you?")
    fresh = Generator(omni.model, config)
    assert talk.generate(more) == fresh.generate(
        heard[0] + Prompt(reply) + more, omni.config(max_new_tokens=24, num_beams=1)
    )


@pytest.mark.parametrize(
    "settings",
    [{"num_beams": 0}, {"num_beams": 2, "temperature": 0.5},
     {"num_beams": 2, "repetition_penalty": 1.2}],
)
def test_refuses_what_has_no_meaning(settings):
    with pytest.raises(UserError, match="num_beams"):
        GenerateConfig(**settings)


@pytest.mark.parametrize("beams", [1, 2])
def test_a_stop_string_ends_an_answer_of_any_search(omni, beams):
    """Neither its tokens nor what comes after them stay in the chat, but for those that complete it."""
    whole = omni.session(num_beams=beams, max_new_tokens=24)
    text = whole.ask("What is a dog?")
    stop = text.split()[2]
    session = omni.session(num_beams=beams, max_new_tokens=24, stop_strings=(stop,))
    assert session.ask("What is a dog?") == text.partition(stop)[0]
    kept, reply = session.turns[0].reply, whole.turns[0].reply
    assert kept == reply[: len(kept)] and len(kept) < len(reply) - 1
    prompts = [plain_turn(omni, "What is a dog?"), plain_turn(omni, "Hello, who are you?")]
    config = omni.config(num_beams=beams, max_new_tokens=24, stop_strings=(stop,))
    assert generate_batch(omni.model, prompts, config, omni.tokenizer)[0] == kept


@pytest.mark.parametrize("beams", [1, 2])
def test_an_answer_that_fills_the_context_is_told_by_any_search(omni, beams):
    prompt = plain_turn(omni, "What is a dog?")
    config = omni.config(num_beams=beams, max_new_tokens=40, max_seq_len=len(prompt) + 3)
    with pytest.warns(UserWarning, match="the context is full"):
        alone = generate(omni.model, prompt, config)
    with pytest.warns(UserWarning, match="the context is full"):
        assert generate_batch(omni.model, [prompt], config) == [alone]
    assert len(alone) == 3
