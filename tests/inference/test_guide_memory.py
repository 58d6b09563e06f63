"""Every flag, function, field and row of the guide to memory-augmented inference, as documented.

Only module paths differ: `inference.memory` and `inference.text_generation` hold what the guide has in
packages of its own.
"""

import inspect
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import infer_chat
import train
from inference.memory import AdapterConfig, MemoryAdapter, load_config
from inference.merge import (
    export_to_gguf,
    extract_memory_weights,
    load_memory,
    load_quantized,
    merge_adapter_weights,
    quantize_full_model,
    quantize_memory_for_deployment,
    read_file,
    write_file,
)
from inference.quantised import METHODS, dynamic_int8
from inference.routing_strategies import (
    HybridRouter,
    RollingWindowRouter,
    SequenceLevelRouter,
    TokenLevelRouter,
    create_inference_router,
)
from inference.text_generation import generate, generate_batch
from models.errors import UserError
from models.lora import LoraConfig, adapted, add_lora
from models.memory import mean_pool
from models.tokenizer import Tokenizer
from training.config import apply_override, load_preset

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "checkpoints" / "thinker_tiny"
PROMPTS = ["Hello", "What is the capital of France?", "What color is snow?"]


@pytest.fixture(scope="module")
def model():
    """A new bank, with something to say, on the shipped Thinker."""
    torch.manual_seed(0)
    made = MemoryAdapter(AdapterConfig(BASE, load_config(ROOT / "configs" / "tiny.yaml").memory))
    for layer in made.memory.layers:
        torch.nn.init.normal_(layer.attention.o_proj.weight, std=0.02)
    return made.eval()


@pytest.fixture(scope="module")
def tokenizer():
    if find_spec("transformers") is None:
        return Tokenizer(BASE / "tokenizer.model")
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(BASE)


@pytest.fixture
def states(model):
    torch.manual_seed(1)
    return torch.randn(2, 10, model.config.hidden_size)


# ---- generate


def test_generate(model, tokenizer):
    said = generate(model, tokenizer, prompt="What is the capital of France?", max_new_tokens=24,
                    temperature=0.7, top_p=0.9, top_k=50, do_sample=True, device="cpu", seed=1)  # fmt: skip
    assert said
    asked = {"prompt": PROMPTS[1], "max_new_tokens": 24, "do_sample": False}
    assert generate(model, tokenizer, **asked) == generate(model, tokenizer, **asked)
    assert generate(model, Tokenizer(BASE / "tokenizer.model"), **asked) == generate(
        model, tokenizer, **asked
    )


@pytest.mark.parametrize(
    "name, default",
    [("max_new_tokens", 256), ("temperature", 0.7), ("top_p", 0.9), ("top_k", 50), ("do_sample", True)],
)
def test_defaults_of_generate(name, default):
    assert inspect.signature(generate_batch).parameters[name].default == default


def test_arguments_of_generate_by_their_places(model, tokenizer):
    named = {"max_new_tokens": 8, "temperature": 0.7, "top_p": 0.9, "top_k": 50, "do_sample": True}
    by_place = generate(model, tokenizer, PROMPTS[1], *named.values(), "cpu", seed=1)
    assert by_place == generate(model, tokenizer, PROMPTS[1], **named, device="cpu", seed=1)


def test_generate_batch(model, tokenizer):
    said = generate_batch(model, tokenizer, prompts=PROMPTS, max_new_tokens=12, do_sample=False,
                          device="cpu")  # fmt: skip
    assert said == [generate(model, tokenizer, p, 12, do_sample=False) for p in PROMPTS]


@pytest.mark.parametrize("asked", [{"prompt": " "}, {"prompt": "Hi", "device": "nowhere"},
                                   {"prompt": "Hi", "temperature": -1.0}])  # fmt: skip
def test_wrong_arguments_are_one_line(model, tokenizer, asked):
    with pytest.raises(UserError):
        generate(model, tokenizer, **asked)


# ---- routing


def test_sequence_level_router(model, states):
    router = SequenceLevelRouter(model.routers["0"], top_k=4)
    chapters, weights = router.route(states)
    assert chapters.shape == weights.shape == (2, 4)
    assert torch.allclose(weights.sum(-1), torch.ones(2))
    scores = model.routers["0"](mean_pool(states))
    assert torch.equal(chapters, scores.topk(4).indices)


def test_rolling_window_router(model, states):
    router = RollingWindowRouter(model.routers["0"], top_k=4, window_size=3)
    whole, _ = SequenceLevelRouter(model.routers["0"]).route(states[:, -3:])
    for part in states.split(1, dim=1):
        chapters, weights = router.route(part, use_cache=True)
    assert torch.equal(chapters, whole)
    assert router.cache.shape[1] == 3
    assert torch.equal(router.route(states, use_cache=False)[0], whole)
    router.reset_cache()
    first, _ = router.route(states[:, :1])
    assert torch.equal(first, SequenceLevelRouter(model.routers["0"]).route(states[:, :1])[0])
    assert weights.shape == (2, 4)


def test_token_level_router(model, states):
    chapters, weights = TokenLevelRouter(model.routers["0"], top_k=4).route(states)
    assert chapters.shape == weights.shape == (2, 10, 4)
    alone, _ = SequenceLevelRouter(model.routers["0"]).route(states[:, 6:7])
    assert torch.equal(chapters[:, 6], alone)


def test_hybrid_router(model, states):
    router = HybridRouter(model.routers["0"], top_k=4, window_size=4)
    sequence = SequenceLevelRouter(model.routers["0"], top_k=4)
    assert torch.equal(router.route(states)[0], sequence.route(states)[0])
    router.start_generation(states)
    new = torch.randn(2, 1, states.shape[2])
    recent = torch.cat([states[:, -3:], new], 1)
    assert torch.equal(router.route(new)[0], sequence.route(recent)[0])
    router.reset()
    assert torch.equal(router.route(states)[0], sequence.route(states)[0])


@pytest.mark.parametrize(
    "strategy, kind", [("sequence", SequenceLevelRouter), ("rolling", RollingWindowRouter),
                       ("token", TokenLevelRouter), ("hybrid", HybridRouter)]
)  # fmt: skip
def test_create_inference_router(model, strategy, kind):
    made = create_inference_router(router=model.routers["0"], strategy=strategy, top_k=4, window_size=128)
    assert type(made) is kind


@pytest.mark.parametrize("wrong", [{"strategy": "best"}, {"top_k": 99}, {"window_size": 0}])
def test_wrong_routers_are_one_line(model, wrong):
    with pytest.raises(UserError):
        create_inference_router(model.routers["0"], **({"strategy": "hybrid"} | wrong))


# ---- configuration


@pytest.mark.parametrize(
    "key, value",
    [
        ("routing_strategy_train", "sequence"), ("top_k", 3),
        ("routing_strategy_inference", "rolling"), ("window_size", 64),
    ],
)  # fmt: skip
def test_config_keys(tmp_path, key, value):
    path = tmp_path / "adapter.yaml"
    path.write_text(f"memory:\n  {key}: {value}\n")
    assert getattr(load_config(path).memory, key) == value
    sections = load_preset("tiny")
    apply_override(sections, ["memory"], f"memory.{key}={value}")
    assert sections["memory"]["model"][key] == value


@pytest.mark.parametrize("strategy, kind", [("sequence", SequenceLevelRouter), ("token", TokenLevelRouter),
                                            ("rolling", RollingWindowRouter)])  # fmt: skip
def test_a_model_routes_as_its_config_says(tmp_path, strategy, kind):
    path = tmp_path / "adapter.yaml"
    settings = f"{{routing_strategy_inference: {strategy}, window_size: 64, top_k: 3}}"
    path.write_text(f"base_model: {BASE}\nmemory: {settings}\n")
    made = MemoryAdapter(load_config(path)).strategies
    assert [type(one) for one in made] == [kind, kind] and {one.top_k for one in made} == {3}
    assert strategy != "rolling" or {one.window_size for one in made} == {64}


@pytest.mark.parametrize("text", ["memory: {chapters: 3}", "vision: {}", "- 1", "memory: {top_k: 0}"])
def test_wrong_configs_are_one_line(tmp_path, text):
    path = tmp_path / "adapter.yaml"
    path.write_text(text)
    with pytest.raises(UserError):
        load_config(path)


def test_loading_a_state_dict(model, tmp_path):
    config = AdapterConfig(BASE, model.memory.config)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    again = MemoryAdapter(config)
    again.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    ids = torch.tensor([[1, 50, 60]])
    assert torch.equal(again.eval()(ids), model(ids))


# ---- merging and quantising


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
@pytest.mark.parametrize("method", METHODS)
@torch.no_grad()
def test_quantize_full_model(model, tmp_path, method, suffix):
    if method.startswith("bnb"):
        pytest.importorskip("bitsandbytes", reason="bitsandbytes: requirements-adapters.txt")
    path = tmp_path / "outputs" / f"quantized_model.{suffix}"
    made = quantize_full_model(model, method=method, output_path=path)
    again = load_quantized(path)
    ids = torch.tensor([[1, 5, 300, 301, 302, 2, 7]])
    assert torch.allclose(made(ids).float(), again(ids).float(), atol=1e-4)
    assert [type(one) for one in again.strategies] == [HybridRouter] * len(again.routers)
    wrong = model(ids).float().flatten().unsqueeze(0)
    near = torch.cosine_similarity(wrong, again(ids).float().flatten().unsqueeze(0))
    assert float(near) > 0.99
    full = sum(p.numel() * 4 for p in model.parameters())
    assert path.stat().st_size < full * {"fp32": 1.05, "fp16": 0.55, "bf16": 0.55}.get(method, 0.4)


@torch.no_grad()
def test_dynamic_int8_has_a_scale_a_row():
    """A large row costs the others nothing."""
    weight, x = torch.randn(4, 64), torch.rand(3, 64) - 0.5
    weight[0] *= 1000
    linear = torch.nn.Linear(64, 4, bias=False)
    linear.weight.copy_(weight)
    made = dynamic_int8(torch.nn.Sequential(linear))
    assert torch.allclose(made(x)[:, 1:], x @ weight[1:].T, atol=0.1)


@pytest.mark.parametrize("method", ["bf16", "dynamic"])
@torch.no_grad()
def test_an_adapter_is_merged_before_a_model_is_stored(tmp_path, method):
    from models.thinker import Thinker

    thinker = add_lora(Thinker.from_pretrained(BASE), LoraConfig())
    for module in adapted(thinker).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.05)
    path, ids = tmp_path / "small.safetensors", torch.tensor([[1, 50, 60]])
    made = quantize_full_model(thinker, method=method, output_path=path)
    assert torch.allclose(made(ids).float(), load_quantized(path)(ids).float(), atol=1e-4)
    assert adapted(thinker), "the model itself keeps its adapter"


@pytest.mark.parametrize("bits", [8, 4])
def test_quantize_memory_for_deployment(tmp_path, bits):
    torch.manual_seed(0)
    fresh = MemoryAdapter(AdapterConfig(BASE))
    before = fresh.memory.chapters.detach().clone()
    path = tmp_path / "mem_quant_model.pt"
    fresh = quantize_memory_for_deployment(fresh, bits=bits, output_path=path)
    error = float((fresh.memory.chapters.detach() - before).abs().max())
    assert 0 < error < {8: 0.03, 4: 0.6}[bits]
    again = load_memory(MemoryAdapter(AdapterConfig(BASE)), path)
    assert torch.equal(again.memory.chapters, fresh.memory.chapters)


def test_other_files_than_a_banks_are_one_line(model, tmp_path):
    path = tmp_path / "bank.safetensors"
    weights = extract_memory_weights(model)
    wide = weights | {"memory.chapters": torch.zeros(2, 3, 4)}
    codes = {"memory.chapters.codes": torch.zeros(2, 4, dtype=torch.int8)}
    for tensors, meta in ((wide, {}), ({}, {}), (codes, {"bits": 8}), (weights, {"bits": 4})):
        write_file(path, tensors, meta)
        with pytest.raises(UserError, match="bank.safetensors"):
            load_memory(MemoryAdapter(AdapterConfig(BASE, model.memory.config)), path)


@torch.no_grad()
def test_merge_adapter_weights(tmp_path):
    from models.thinker import Thinker

    thinker = add_lora(Thinker.from_pretrained(BASE), LoraConfig())
    for module in adapted(thinker).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.05)
    merge_adapter_weights(thinker, output_path=tmp_path / "merged_weights.pt")
    merged = Thinker.from_pretrained(BASE)
    before, ids = merged(torch.tensor([[1, 50, 60]])), torch.tensor([[1, 50, 60]])
    merged.load_state_dict(torch.load(tmp_path / "merged_weights.pt", weights_only=True))
    assert torch.allclose(merged(ids), thinker(ids), atol=1e-3)
    assert not torch.allclose(merged(ids), before, atol=1e-2)


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_extract_memory_weights(model, tmp_path, suffix):
    path = tmp_path / f"memory_only.{suffix}"
    weights = extract_memory_weights(model, output_path=path)
    assert all(key.startswith("memory.") for key in weights)
    again = load_memory(MemoryAdapter(AdapterConfig(BASE, model.memory.config)), path)
    assert all(torch.equal(v, read_file(path)[0][k]) for k, v in extract_memory_weights(again).items())


@pytest.mark.parametrize("kind", ["f16", "q8_0", "q4_0"])
def test_export_to_gguf(model, tmp_path, kind):
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    path = export_to_gguf(model, output_path=tmp_path / "model.gguf", quantization_type=kind)
    names = [tensor.name for tensor in gguf.GGUFReader(path).tensors]
    assert "token_embd.weight" in names
    assert not [name for name in names if "memory" in name]


def test_export_through_llama_quantize(model, tmp_path):
    pytest.importorskip("gguf", reason="gguf is not installed")
    out, build = tmp_path / "model.gguf", tmp_path / "llama.cpp" / "build" / "bin"
    with pytest.raises(UserError, match="llama-quantize"):
        export_to_gguf(model, out, "q4_k_m", llama_cpp_path=tmp_path)
    assert not out.exists()
    build.mkdir(parents=True)
    (build / "llama-quantize").write_text('#!/bin/sh\ntest "$3" = q4_k_m && cp "$1" "$2"\n')
    (build / "llama-quantize").chmod(0o755)
    export_to_gguf(model, out, quantization_type="q4_k_m", llama_cpp_path=tmp_path / "llama.cpp")
    assert out.read_bytes()[:4] == b"GGUF"


def test_wrong_methods_are_one_line(model):
    with pytest.raises(UserError, match="bnb_4bit"):
        quantize_full_model(model, "int3")
    with pytest.raises(UserError, match="4 or 8"):
        quantize_memory_for_deployment(model, bits=3)
    with pytest.raises(UserError, match="no GGUF type"):
        export_to_gguf(model, "x.gguf", "q9")


# ---- command lines


@pytest.mark.parametrize("flags", [["--routing_strategy", "token"], ["--memory_dir", "nowhere"],
                                   ["--adapter_dir", "nowhere"]])  # fmt: skip
def test_wrong_flags_are_one_line(flags, capsys):
    assert infer_chat.main(["--text", "Hi", *flags]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("flags", [["thinker", "--lora_rank", "4"], ["vision", "--lora_rank", "4"],
                                   ["thinker", "--lora_alpha", "4"]])  # fmt: skip
def test_wrong_lora_flags_are_one_line(flags):
    with pytest.raises(UserError, match="lora"):
        train.main([*flags, "--preset", "nano"])
