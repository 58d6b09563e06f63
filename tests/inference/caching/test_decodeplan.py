"""Decode plans: tables, and windows that change nothing until a context is longer than they are."""

import dataclasses

import pytest
import torch

from inference import GenerateConfig, Generator, generate, generate_batch
from inference.caching.decodeplan import (
    DEFAULT_TABLE,
    Bucket,
    format_table,
    parse_table,
    query_chunk,
    quickest,
    windows,
)
from inference.prompt import Prompt
from models.block import causal_mask
from models.errors import UserError
from models.omni import thinker_of
from models.thinker import Thinker, ThinkerConfig
from tests.inference.turns import first_turn, plain_turn

IDS = [1, *range(40, 80)]


@pytest.fixture(scope="module")
def thinker() -> Thinker:
    torch.manual_seed(0)
    config = ThinkerConfig(128, 32, 2, 4, 2, 16, 48, 128)
    thinker = Thinker(config).eval()
    for weight in thinker.parameters():
        if weight.dim() > 1:
            weight.data.mul_(5)  # far from uniform logits, so that a difference shows
    return thinker


def test_tables_are_read_and_written():
    text = "256:0:0,1024:128:512,max:64:256"
    plan = parse_table(text)
    assert plan == (Bucket(256), Bucket(1024, 128, 512), Bucket(None, 64, 256))
    assert format_table(plan) == text
    assert [query_chunk(plan, n) for n in (1, 256, 257, 5000)] == [None, None, 128, 64]
    assert windows(plan) == ((0, None), (256, 512), (1024, 256))
    assert windows(()) == () and query_chunk((), 9) is None
    assert all(bucket.window is None for bucket in parse_table(DEFAULT_TABLE))


@pytest.mark.parametrize("text", ["", "5", "max:0", "9:0:0", "9:0:0,9:0:0,max:0:0", "max:x:0",
                                  "max:0:0,9:0:0", "max:-1:0", "max:99999999999999999999:0"])
def test_bad_tables_are_refused(text):
    with pytest.raises(UserError, match="decode_table"):
        parse_table(text)


def test_bad_settings_are_refused():
    for wrong in ({"decode_plan": "some"}, {"decode_table": "max:0:0"},
                  {"cache_plan_path": "x"}, {"decode_local_window": 9},
                  {"decode_plan": "auto", "decode_bucket_short": 9, "decode_bucket_mid": 9},
                  {"decode_plan": "fixed", "decode_table": "max:0:0", "decode_q_chunk": 8},
                  {"cache_kind": "auto", "cache_budget_mb": 0}, {"cache_quality_max_ppl_ratio": 0.5},
                  {"cache_plan_probe_interval_sec": -1}):
        with pytest.raises(UserError, match="|".join(wrong)):
            GenerateConfig(**wrong)
    with pytest.raises(UserError, match="Omni"):
        GenerateConfig(decode_plan="auto").plan()


def test_documented_fields_make_the_table():
    fixed = GenerateConfig(decode_plan="fixed", decode_q_chunk=128, decode_local_window=512)
    assert fixed.plan() == (Bucket(None, 128, 512),)
    auto = GenerateConfig(
        decode_plan="auto", decode_bucket_short=512, decode_bucket_mid=2048, decode_local_window=512
    )
    assert parse_table(auto.table()) == (Bucket(512), Bucket(2048), Bucket(None, None, 512))


@pytest.mark.parametrize("plan", ["fixed", "auto"])
def test_a_plan_keeps_compiled_decoding(compiled_step, omni, plan):
    if compiled_step is None:
        pytest.skip("no C++ compiler here")
    config = omni.config(decode_plan=plan, max_new_tokens=4, native="on")
    generator = Generator(omni.model, config)
    assert len(generator.generate(first_turn(omni, "hello", *[None] * 4, config))) > 0
    assert generator.run.native is not None and generator.cache.windows == ()


def test_the_smallest_of_the_quick_chunks_is_taken():
    assert quickest({None: 1.0, 64: 1.2, 256: 1.01}) == 256
    assert quickest({None: 1.0, 64: 1.2}) is None


def test_a_window_shows_the_nearest_keys():
    mask = causal_mask(3, 5, window=2)[0, 0]
    assert mask.tolist() == [[False, True, True, False, False], [False, False, True, True, False],
                             [False, False, False, True, True]]


@torch.inference_mode()
@pytest.mark.parametrize("window", [len(IDS), 10])
def test_cached_windows_equal_a_masked_full_pass(thinker, window):
    ids = torch.tensor([IDS])  # (1, S)
    S = ids.shape[1]
    cache = thinker.new_cache(1, S)
    cache.windows = ((0, window),)
    parts = [thinker(ids[:, :17], cache=cache), thinker(ids[:, 17:30], cache=cache)]
    parts += [thinker(ids[:, t : t + 1], cache=cache) for t in range(30, S)]
    whole = thinker.new_cache(1, S)
    whole.windows = ((0, window),)
    windowed = torch.cat(parts, 1)
    assert torch.allclose(windowed, thinker(ids, cache=whole), atol=1e-4)
    same = torch.isclose(windowed, thinker(ids), atol=1e-4).all(-1)[0]  # (S,)
    assert same[:window].all(), "a window that covers the context changes nothing"
    assert not same[window + 1 :].any()


def test_generation_with_plans(thinker):
    prompts = [Prompt(IDS), Prompt(IDS[:9])]
    plain = GenerateConfig(max_new_tokens=12)
    expected = generate_batch(thinker, prompts, plain)
    for table in (None, "20:0:0,max:7:0", "max:5:64", "30:0:0,max:8:60"):
        fixed = dataclasses.replace(plain, decode_plan="fixed", decode_table=table)
        assert generate_batch(thinker, prompts, fixed) == expected
        assert [generate(thinker, prompt, fixed) for prompt in prompts] == expected
    for table in ("20:0:0,max:0:6", "30:0:0,max:8:4", "max:0:6"):
        narrow = dataclasses.replace(plain, decode_plan="fixed", decode_table=table)
        replies = generate_batch(thinker, prompts, narrow)
        assert replies != expected
        assert replies == [generate(thinker, prompt, narrow) for prompt in prompts]
    quantised = dataclasses.replace(narrow, cache_kind="fp16")
    assert len(generate(thinker, prompts[0], quantised)) == 12


def test_auto_measures_chunks_and_keeps_answers(omni, tmp_path):
    prompt = plain_turn(omni, "hello there")
    plan = tmp_path / "plan.json"
    config = omni.config(decode_plan="auto", cache_plan_path=str(plan), max_seq_len=128)
    assert config.decode_plan == "fixed" and plan.exists()
    assert [b.window for b in config.plan()] == [None] * len(config.plan())
    plain = omni.config(max_seq_len=128)
    assert generate(omni.model, prompt, config) == generate(omni.model, prompt, plain)
    assert thinker_of(omni.model).new_cache(1, 4).windows == ()
