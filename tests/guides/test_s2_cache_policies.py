"""Guide S2, a cache-policy engine: the rows that tests/inference/test_guides.py does not run.

As documented; `infer` is `inference`, `config.kvcache` is `models.cachekind`, `cache` is
`inference.caching.layers`.
"""

import json
from importlib.util import find_spec

import pytest
import torch
import yaml

from inference import (
    GenerateConfig,
    Generator,
    SpeculativeConfig,
    SpeculativeGenerator,
    generate,
    load_model,
)
from inference.caching import planning, probe
from inference.caching.layers import LayerKVCache
from inference.manifest import main as run_manifest
from inference.notice import Notice
from inference.speculative.draft import NgramDraft, PromptLookup
from inference.speculative.table import SHIPPED, DraftTable
from models.cachekind import KVCacheKind
from models.errors import UserError
from tests.conftest import ROOT

WIDTH = {"fp32": 4, "fp16": 2, "q8": 1 + 2 / 32, "q4": 0.5 + 2 / 32, "nf4": 0.5 + 2 / 32}  # bytes a number
LEAST = {  # every kind may pass the gates of random weights
    "cache_quality_max_delta_nll": 9.0, "cache_quality_max_ppl_ratio": 9.0,
    "cache_quality_max_mean_kl": 9.0, "cache_quality_prompt_len": 64, "cache_quality_decode_steps": 4,
    "cache_auto_bench_steps": 2, "cache_auto_bench_prompt_len": 64,
}  # fmt: skip
SAMPLING = [("max_new_tokens", 4), ("temperature", 1.0), ("top_k", 5), ("top_p", 0.9),
            ("eos_token_id", 2), ("max_seq_len", 64)]  # fmt: skip
SPECULATIVE = [
    ("spec_k", 4), ("spec_k_adaptive", False), ("spec_method", "reject_sampling"),
    ("spec_extra_token", True), ("spec_disable_below_accept", 0.0), ("temperature", 0.8),
]  # fmt: skip


@pytest.mark.parametrize("name, value", SAMPLING)
def test_sampling_parameters(env, name, value):
    given = {"max_new_tokens": 4, "seed": 0} | {name: value}
    reply = generate(env.model, env.input_ids, **given)
    assert 4 < reply.shape[1] <= 8 and torch.equal(reply[:, :4], env.input_ids)
    assert getattr(GenerateConfig(**given), name) == value


def test_sampling_parameters_bound_what_is_drawn(env):
    greedy = generate(env.model, env.input_ids, max_new_tokens=4, eos_token_id=None)
    hot = {"max_new_tokens": 4, "eos_token_id": None, "temperature": 5.0, "seed": 0}
    assert not torch.equal(generate(env.model, env.input_ids, **hot), greedy)
    for narrow in {"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}:
        assert torch.equal(generate(env.model, env.input_ids, **hot, **narrow), greedy)
    with pytest.warns(Notice, match="context"):
        assert generate(env.model, env.input_ids, **hot, max_seq_len=6).shape[1] == 6


@pytest.mark.parametrize("more", [{}, {"repetition_penalty": 1.2}, {"num_beams": 2}], ids=str)
def test_without_a_stop_token_a_reply_has_its_length(env, more):
    stop = generate(env.model, env.input_ids, max_new_tokens=1)[0, -1].item()
    given = {"max_new_tokens": 4} | more
    if not more:
        assert generate(env.model, env.input_ids, eos_token_id=stop, **given).shape[1] == 4
    assert GenerateConfig(eos_token_id=None).eos_token_id is None
    assert generate(env.model, env.input_ids, eos_token_id=None, **given).shape[1] == 8
    assert env.omni.config(eos_token_id=None).eos_token_id == env.tokenizer.eos


@pytest.mark.parametrize("kind", [*WIDTH, KVCacheKind.FP16])
def test_bytes_of_a_token(env, kind):
    c = env.model.thinker.config
    generator = Generator(env.model, config=GenerateConfig(cache_kind=kind, max_seq_len=64))
    numbers = 2 * c.num_hidden_layers * c.num_key_value_heads * c.head_dim
    width = WIDTH.get(kind, 2) if isinstance(kind, str) else 2
    assert generator.cache.nbytes == 64 * numbers * width


@pytest.mark.filterwarnings("ignore::inference.notice.Notice")
def test_auto_drops_tests_times_and_keeps(env, tmp_path):
    plans = tmp_path / "cache_plans.json"
    config = GenerateConfig(
        cache_kind="auto", cache_budget_mb=0.1, cache_plan_path=str(plans), cache_plan_probe=True,
        cache_plan_probe_interval_sec=3600, max_seq_len=256, **LEAST,
    )  # fmt: skip
    model = load_model(env.folder)
    chosen = Generator(model, config=config).config.cache_kind
    assert chosen not in ("auto", "fp32") and "above 0.1" in plans.read_text()
    before = plans.read_bytes()
    assert Generator(model, config=config).config.cache_kind == chosen
    assert plans.read_bytes() == before and json.loads(before)


@pytest.mark.filterwarnings("ignore::inference.notice.Notice")
@pytest.mark.parametrize("benchmark", [True, False])
def test_measuring_fields_are_what_is_measured(env, tmp_path, monkeypatch, benchmark):
    asked, timed, needle, decoder = [], set(), planning.needle, probe.CacheProbe._decoder
    monkeypatch.setattr(planning, "needle", lambda *given: asked.append(given[1]) or needle(*given))
    monkeypatch.setattr(
        probe.CacheProbe, "_decoder", lambda self, *given: timed.add(given[1:]) or decoder(self, *given)
    )
    sizes = {"cache_quality_prompt_len": 60, "cache_auto_bench_steps": 3, "cache_auto_bench_prompt_len": 20}
    given = LEAST | sizes | {"cache_auto_benchmark": benchmark, "max_seq_len": 96}
    plans = tmp_path / "plans.json"
    given["cache_plan_path"] = str(plans)
    Generator(load_model(env.folder), config=GenerateConfig(cache_kind="auto", **given))
    assert asked == [60] and timed == ({(20, 3)} if benchmark else set())
    (plan,) = json.loads(plans.read_text())["plans"].values()
    assert any(row["tokens_per_second"] for row in plan["candidates"]) == benchmark


@pytest.mark.filterwarnings("ignore::inference.notice.Notice")
def test_a_long_context_of_everything_at_once(env):
    config = GenerateConfig(
        max_seq_len=8192, cache_kind="q8", decode_plan="auto", cache_budget_mb=2048, max_new_tokens=3
    )
    assert generate(load_model(env.folder), env.input_ids, config=config).shape[1] > 4


def test_a_context_beyond_the_model_is_said(env):
    with pytest.warns(Notice, match="8192 is beyond this model"):
        Generator(env.model, config=GenerateConfig(max_seq_len=8192))


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_device_that_is_missing_is_one_line(env, device):
    if torch.backends.mps.is_available() or torch.cuda.is_available():
        pytest.skip("there is such a device here")
    config = GenerateConfig(max_new_tokens=2)
    for call in (lambda: Generator(env.model, config=config, device=torch.device(device)),
                 lambda: generate(env.model, env.input_ids, config=config, device=device),
                 lambda: LayerKVCache(1, 64, 32, 32, device=torch.device(device))):  # fmt: skip
        with pytest.raises(UserError, match=f"cannot use the device '{device}'"):
            call()


@pytest.mark.parametrize("ids, said", [
    ([[]], "the prompt is empty"), ([[3, 3]], "the prompt is empty"),
    ([[1, 999_999]], "is this another one's tokenizer"), ([[1, -5]], "is this another one's tokenizer"),
])  # fmt: skip
def test_ids_that_cannot_be_continued_are_one_line(env, ids, said):
    generator = Generator(env.model, config=GenerateConfig(max_new_tokens=2))
    for call in generator.generate, lambda given: generate(env.model, given, max_new_tokens=2):
        with pytest.raises(UserError, match=said):
            call(torch.tensor(ids, dtype=torch.long))


@pytest.mark.parametrize("name, value", SPECULATIVE)
def test_speculative_configuration(env, name, value):
    config = SpeculativeConfig(**{"max_new_tokens": 6, name: value})
    generator = SpeculativeGenerator(target_model=env.model, draft_model=env.model, config=config)
    reply = generator.generate(env.input_ids)
    assert 4 < reply.shape[1] <= 10 and torch.equal(reply[:, :4], env.input_ids)
    assert getattr(generator.config, name) == value
    assert 0.0 <= generator.acceptance_rate <= 1.0
    if not config.temperature:
        assert torch.equal(reply, generate(env.model, env.input_ids, max_new_tokens=6))


@pytest.mark.parametrize("spec_k", [1, 3])
def test_guesses_at_once_and_whether_they_adapt(env, spec_k):
    """The model is its own draft: every guess stands."""
    found = {}
    for adaptive in (False, True):
        config = SpeculativeConfig(
            spec_k=spec_k, spec_k_adaptive=adaptive, max_new_tokens=20, eos_token_id=None
        )
        generator = SpeculativeGenerator(env.model, env.model, config)
        generator.generate(env.input_ids)
        found[adaptive] = generator.k, generator.passes
    assert found[False][0] == spec_k < found[True][0] and found[False][1] > found[True][1]


def test_the_table_that_ships_changes_no_answer():
    """As on the command line: `--draft table`."""
    from inference import Omni

    omni = Omni.from_pretrained(ROOT / "checkpoints" / "thinker_tiny")
    asked = ("What is a dog?", "Hello, how are you?")
    plain = [omni.chat(text, max_new_tokens=24) for text in asked]
    omni.use_draft("table")
    assert [omni.chat(text, max_new_tokens=24) for text in asked] == plain


def test_the_table_that_ships_needs_its_tokenizer(env):
    with pytest.raises(UserError, match="another tokenizer"):
        SpeculativeGenerator(env.model, NgramDraft(DraftTable.load(SHIPPED)))


def test_a_table_that_is_unsure_looks_into_the_prompt():
    draft, lookup = NgramDraft(DraftTable([])), PromptLookup()
    context = [1, 2, 3, 4, 5, 9, 2, 3]
    assert draft.propose(context, 2, None, None) == lookup.propose(context, 2, None, None) == ([4, 5], None)


@pytest.mark.skipif(find_spec("transformers") is None, reason="needs transformers")
def test_the_complete_pipeline():
    from transformers import AutoTokenizer

    folder = ROOT / "checkpoints" / "thinker_tiny"
    model, tokenizer = load_model(folder), AutoTokenizer.from_pretrained(folder)
    model.eval()
    config = GenerateConfig(
        max_new_tokens=8, temperature=0.7, top_k=50, top_p=0.9, eos_token_id=tokenizer.eos_token_id,
        max_seq_len=1024, cache_kind="fp16",
    )  # fmt: skip
    generator = Generator(model, config=config, device="cpu")
    input_ids = tokenizer.encode("Once upon a time", return_tensors="pt")
    assert isinstance(tokenizer.decode(generator.generate(input_ids)[0]), str)
    rows = tokenizer(["The weather today is", "In the year 2050,"], return_tensors="pt", padding=True)
    assert len(tokenizer.batch_decode(generator.generate(rows["input_ids"]))) == 2
    hello = tokenizer.encode("Hello", return_tensors="pt")
    assert len([tokenizer.decode([token]) for token in generator.generate_iter(hello)]) <= 8


def test_the_documented_manifest(env, tmp_path, capsys):
    """With a prompt: the guide's own asks nothing."""
    settings = {"max_new_tokens": 3, "temperature": 0.8, "cache_kind": "fp16", "prompt": "Hello"}
    run = {"id": "generate", "mode": "generate", "generate": settings}
    target = {"type": "experiment", "name": "generate_test", "runs": [run]}
    content = {"ckpt_dir": str(env.folder), "targets": [target]}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content))
    assert run_manifest([str(tmp_path / "m.yaml"), "--out", str(tmp_path / "m.jsonl")]) == 0
    (line,) = map(json.loads, (tmp_path / "m.jsonl").read_text().splitlines())
    assert line["run"]["id"] == "generate_test/generate" and "answer" in line
    run["mode"] = "benchmark"
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content))
    assert run_manifest([str(tmp_path / "m.yaml"), "--out", str(tmp_path / "b.jsonl")]) == 2
    assert "mode must be generate" in capsys.readouterr().err
    run["mode"] = "generate"
    del settings["prompt"]
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content))
    assert run_manifest([str(tmp_path / "m.yaml"), "--out", str(tmp_path / "n.jsonl")]) == 2
