"""Tensors, ids and plain text in, the same kind out: the names that inference guides document."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from inference import (
    GenerateConfig,
    Generator,
    Prompt,
    generate,
    generate_batch,
    generate_iter,
    generate_stream,
    generation,
    load_model,
    sample_top_p,
    text_generation,
)
from inference.api import as_prompts, padding, settings, tokenizer_beside
from inference.stopping import cut
from models.errors import UserError
from models.omni import thinker_of

IDS = [1, 40, 50, 60, 90]


@pytest.fixture
def model(omni):
    return omni.model


def reply(model, **given) -> list[int]:
    return generate(model, IDS, max_new_tokens=8, **given)


def test_a_tensor_gives_a_tensor_with_the_prompt(model):
    out = generate(model, torch.tensor([IDS]), max_new_tokens=8)
    assert out.tolist() == [IDS + reply(model)]
    assert generate(model, input_ids=torch.tensor([IDS]), max_new_tokens=8).tolist() == out.tolist()


def test_rows_of_a_padded_tensor_are_answered_as_alone(model):
    short = IDS[:3]
    rows = torch.tensor([IDS, [3, 3, *short]])
    alone = [generate(model, ids, max_new_tokens=8) for ids in (IDS, short)]
    out = generate(model, rows, max_new_tokens=8).tolist()
    assert [row[5 : 5 + len(said)] for row, said in zip(out, alone, strict=True)] == alone
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    assert generate(model, rows, attention_mask=mask, max_new_tokens=8).tolist() == out


def test_text_gives_text(omni):
    text = generate(omni.model, omni.tokenizer, "Once upon", max_new_tokens=8)
    ids = [omni.tokenizer.bos, *omni.tokenizer.encode("Once upon")]
    assert text == omni.tokenizer.decode(generate(omni.model, ids, max_new_tokens=8))
    prompts = ["Once upon", "The", "A"]
    many = generate_batch(omni.model, omni.tokenizer, prompts=prompts, batch_size=2, max_new_tokens=8)
    assert many == [generate(omni.model, omni.tokenizer, p, max_new_tokens=8) for p in prompts]


def test_streams_give_the_same_tokens(omni):
    expected = reply(omni.model)
    assert list(generate_iter(omni.model, IDS, max_new_tokens=8)) == expected
    assert list(generate_stream(omni.model, torch.tensor([IDS]), max_new_tokens=8)) == expected


def test_without_a_cache_and_after_embeddings_the_same(model):
    expected = reply(model)
    assert reply(model, use_cache=False) == expected
    thinker = model.thinker
    media = thinker.embed(torch.tensor([IDS[:2]])).detach()  # any embeddings will do
    for use_cache in (True, False):
        given = {"multimodal_emb": media, "max_new": 8, "ctx": 64, "use_cache": use_cache}
        assert generate(model, IDS[2:], **given) == expected


def test_a_generator_goes_on_until_it_is_reset(omni):
    config = GenerateConfig(max_new_tokens=8)
    generator = Generator(omni.model, config=config, device="cpu")
    first = generator.generate(torch.tensor([IDS]))
    said = first[0, len(IDS) :].tolist()
    second = generator.generate(torch.tensor([[77, 78]]))
    assert second[0, 2:].tolist() == generate(omni.model, [*IDS, *said, 77, 78], max_new_tokens=8)
    generator.reset()
    assert torch.equal(generator.generate(torch.tensor([IDS])), first)
    generator.reset()
    assert list(generator.generate_iter(torch.tensor([IDS]))) == said


def test_a_generator_of_a_folder_answers_text(nano_text_dir, omni):
    for given in ({"checkpoint_path": nano_text_dir}, {
        "checkpoint_path": nano_text_dir / "model.safetensors", "tokenizer_path": nano_text_dir,
        "device": "cpu",
    }):
        generator = Generator(**given)
        text = generator.generate("Once", max_new_tokens=8, temperature=0.7, top_p=0.9, seed=0)
        assert isinstance(text, str) and text
        assert generator.generate("Once", max_new_tokens=8) == generate(
            load_model(nano_text_dir), omni.tokenizer, "Once", max_new_tokens=8
        )
    assert Generator.from_checkpoint(nano_text_dir).generate_batch(["A", "B"], batch_size=1)


def test_auto_is_measured_without_a_tokenizer_too(omni, nano_text_dir):
    model = load_model(nano_text_dir)
    assert tokenizer_beside(model).encode("dog") == omni.tokenizer.encode("dog")
    config = GenerateConfig(cache_kind="auto", max_seq_len=64, max_new_tokens=4)
    assert Generator(model, config).config.cache_kind != "auto"


def test_top_p_example_of_the_guide_keeps_four_tokens():
    probs = torch.tensor([[0.40, 0.25, 0.15, 0.10, 0.05, 0.03, 0.02]])
    torch.manual_seed(0)
    drawn = {int(sample_top_p(probs, 0.9 - 1e-6)) for _ in range(300)}
    assert drawn == {0, 1, 2, 3}
    assert sample_top_p(probs, 0.9).shape == (1, 1)


def test_do_sample_is_greedy_or_not():
    assert GenerateConfig(do_sample=False, temperature=0.7).temperature == 0.0
    assert GenerateConfig(do_sample=True).temperature == 1.0
    assert GenerateConfig(do_sample=True, temperature=0.7).temperature == 0.7
    assert replace(GenerateConfig(do_sample=True), temperature=0.0).temperature == 0.0


def test_temperature_0_is_greedy_whatever_else_is_asked(omni):
    asked = {"max_new_tokens": 6, "top_k": 0}
    greedy = generate(omni.model, omni.tokenizer, "Once", **asked)
    for seed in range(3):
        given = asked | {"temperature": 0.0, "do_sample": True, "seed": seed}
        assert generate(omni.model, omni.tokenizer, "Once", **given) == greedy


def test_a_long_text_keeps_its_end_and_room_for_the_reply(omni):
    text = "Once upon a time there was a dog. " * 40
    media = torch.randn(1, 5, thinker_of(omni.model).config.hidden_size)
    for given in ({}, {"multimodal_emb": media}):
        with pytest.warns(UserWarning, match="longer than the context"):
            assert generate(omni.model, omni.tokenizer, text, ctx=64, max_new_tokens=6, **given)
    asked = {"ctx": 64, "max_new_tokens": 6}
    with pytest.warns(UserWarning, match="longer than the context"):
        alone = generate(omni.model, omni.tokenizer, text, **asked)
    with pytest.warns(UserWarning, match="longer than the context"):
        both = generate_batch(omni.model, omni.tokenizer, [text, "Hello"], **asked)
    assert both == [alone, generate(omni.model, omni.tokenizer, "Hello", **asked)]
    with pytest.warns(UserWarning, match="longer than the context"):
        ids = list(generate_iter(omni.model, omni.tokenizer, text, **asked))
    assert omni.tokenizer.decode(ids) == alone
    with pytest.raises(UserError, match="64"):
        generate(omni.model, omni.tokenizer.encode(text), ctx=64)


def test_answers_end_before_stop_strings(omni):
    both = omni.model, omni.tokenizer
    for asked in ({"max_new_tokens": 12}, {"max_new_tokens": 12, "use_cache": False}):
        whole = generate(*both, "Once", **asked)
        stop = (whole[3:5],)
        ends = cut(whole, stop)
        assert generate(*both, "Once", stop_strings=stop, **asked) == ends != whole
    several = generate_batch(*both, ["Once", "Once"], stop_strings=stop, max_new_tokens=12)
    assert several == [ends, ends]


def test_beams_and_a_full_context_are_refused_without_a_cache_and_behind_media(omni):
    media = torch.zeros(1, 5, thinker_of(omni.model).config.hidden_size)
    for given in ({"use_cache": False}, {"multimodal_emb": media}):
        with pytest.raises(UserError, match="num_beams"):
            generate(omni.model, IDS, num_beams=2, **given)
        with pytest.raises(UserError, match="room for"):
            generate(omni.model, IDS, ctx=5, **given)
        with pytest.raises(UserError, match="empty"):
            generate(omni.model, torch.zeros(1, 0, dtype=torch.long), **given)
    with pytest.raises(UserError, match="multimodal_emb"):
        generate(omni.model, omni.tokenizer, "Once", multimodal_emb=media[0], use_cache=False)


def test_end_and_padding_are_those_of_the_model(nano_text_dir):
    """Another family's ids: our 2 and 3 are ordinary tokens there."""
    model = load_model(nano_text_dir)
    model.config = replace(model.config, eos_token_id=7, pad_token_id=9)
    assert settings(None, model, None, {}).eos_token_id == 7
    rows = torch.tensor([[3, 5, 6, 3], [9, 9, 5, 6]])
    assert [prompt.ids for prompt in as_prompts(rows, None, padding(model, None))] == [[3, 5, 6, 3], [5, 6]]
    foreign = {key: value for key, value in model.config.to_json().items() if key != "pad_token_id"}
    model.config = type(model.config).from_json(foreign, "config.json")
    assert model.config.pad_token_id is None
    out = generate(model, rows, max_new_tokens=4)  # nothing is taken for padding
    alone = [generate(model, row.tolist(), max_new_tokens=4) for row in rows]
    longest = max(map(len, alone))
    right = [reply + [7] * (longest - len(reply)) for reply in alone]
    assert out.tolist() == [row.tolist() + reply for row, reply in zip(rows, right, strict=True)]


def test_many_texts_are_answered_in_groups(omni, monkeypatch):
    sizes, run = [], generation.generate_batch
    monkeypatch.setattr(generation, "generate_batch", lambda m, p, *a: sizes.append(len(p)) or run(m, p, *a))
    texts = ["Hello"] * 9
    said = text_generation.generate_batch(omni.model, omni.tokenizer, texts, 2, do_sample=False)
    assert sizes == [8, 1] and len(set(said)) == 1


@pytest.mark.parametrize("call, words", [
    (lambda m, t: generate(m, 3), "cannot continue int"),
    (lambda m, t: generate(m, "hello"), "needs a tokenizer"),
    (lambda m, t: generate(m, torch.zeros(1, 2)), "must be integers"),
    (lambda m, t: generate(m, IDS, max_tokens=3), "unknown setting max_tokens"),
    (lambda m, t: generate("model", IDS), "must be a Thinker or an OmniModel"),
    (lambda m, t: generate(m, IDS, IDS), "prompt, or the tokenizer"),
    (lambda m, t: generate_batch(m, t, "Hello"), "must be a list"),
    (lambda m, t: generate_batch(m, t, ["Hello"], batch_size=0), "at least 1"),
    (lambda m, t: generate_iter(m, torch.tensor([IDS, IDS])), "one prompt at a time"),
    (lambda m, t: generate(m, Prompt([])), "empty"),
    (lambda m, t: Generator(), "give a model"),
    (lambda m, t: generate(m, IDS, multimodal_emb=torch.zeros(2, 2)), "multimodal_emb"),
])
def test_wrong_types_get_one_line(omni, call, words):
    with pytest.raises(UserError, match=words):
        call(omni.model, omni.tokenizer)


@pytest.mark.parametrize("seen", [0, 6])
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_reply_ends_where_the_context_does(model, seen, use_cache):
    given = {"use_cache": use_cache, "max_new_tokens": 30, "eos_token_id": None}
    if seen:
        torch.manual_seed(0)
        given["multimodal_emb"] = torch.randn(1, seen, thinker_of(model).config.hidden_size)
    whole = generate(model, IDS, **given)
    cut_off = generate(model, IDS, max_seq_len=len(IDS) + seen + 3, **given)
    assert len(whole) == 30 and cut_off == whole[:3]
    with pytest.raises(UserError, match="context"):
        generate(model, IDS, max_seq_len=len(IDS) + seen, **given)


@pytest.mark.parametrize("do_sample", [True, False])
def test_the_end_is_the_tokenizers_own(do_sample):
    tokenizer = SimpleNamespace(eos=77)
    made = text_generation.settings(tokenizer, 9, 0.7, 0.9, 50, do_sample, None)
    assert made.eos_token_id == 77 and made.max_new_tokens == 9
