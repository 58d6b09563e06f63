"""Three inference guides (a mini-LLM's, a cache-policy engine's, this project's own tutorial), row by row.

Each row is run as its guide documents it, with nothing changed but module paths and file names.
"""

import dataclasses

import numpy as np
import pytest
import torch

import infer_chat
from inference import (
    GenerateConfig,
    Generator,
    SpeculativeConfig,
    SpeculativeGenerator,
    generate,
    generate_batch,
    generate_stream,
    sample_top_p,
)
from inference.caching.layers import DecoupledLayerKVCache, LayerKVCache
from inference.sampling import apply_temperature, apply_top_k, greedy
from inference.tutorial import TalkerChain, ThinkerLM
from models.cachekind import KVCacheKind, KVCacheTensorConfig
from models.errors import UserError

LOGITS = torch.tensor([[2.0, 1.5, 1.0, 0.5]])


@pytest.fixture
def env(omni, nano_text_dir):
    class Env:
        model, tokenizer, folder, omni_folder = omni.model, omni.tokenizer, nano_text_dir, omni.folder
        input_ids = torch.tensor([[1, 40, 50, 60]])
    return Env


# ---- a mini-LLM's generator


def temperature_table(env):
    for temperature, expected in ((0.5, [0.64, 0.24, 0.09, 0.03]), (1.0, [0.46, 0.28, 0.17, 0.10])):
        probs = apply_temperature(LOGITS, temperature).softmax(-1)[0].tolist()
        assert probs == pytest.approx(expected, abs=0.006)
    flat = apply_temperature(LOGITS, 2.0).softmax(-1)
    assert flat.max() < apply_temperature(LOGITS, 1.0).softmax(-1).max()


def temperature_zero_is_greedy(env):
    probs = apply_temperature(LOGITS, 0.0).softmax(-1)
    assert probs.tolist() == [[1.0, 0.0, 0.0, 0.0]]


def top_p(env):
    assert sample_top_p(LOGITS.softmax(-1), 0.1).tolist() == [[0]]


def top_k_and_greedy(env):
    assert apply_top_k(LOGITS, 1).softmax(-1).argmax() == greedy(LOGITS)


def generator_of_a_checkpoint(env):
    gen = Generator(checkpoint_path=env.folder, tokenizer_path=env.folder, device="cpu")
    output = gen.generate(prompt="Once upon a time", max_new_tokens=5, temperature=0.8, top_p=0.95)
    assert isinstance(output, str)
    assert len(gen.generate_batch(["Hello", "How are", "The cat"], batch_size=3, max_new_tokens=3)) == 3
    tokens = list(gen.generate_stream("Hello", max_new_tokens=3))
    assert all(isinstance(token, int) for token in tokens)


def early_stopping(env):
    reply = generate(env.model, [1, 40], max_new_tokens=8)
    assert generate(env.model, [1, 40], max_new_tokens=8, eos_token_id=reply[0]) == []


def cached_is_uncached(env):
    with_cache = generate(env.model, [1, 40], max_new_tokens=8)
    assert generate(env.model, [1, 40], max_new_tokens=8, use_cache=False) == with_cache


# ---- a cache-policy engine


def quick_and_configured(env):
    assert generate(env.model, env.input_ids, max_new_tokens=6).shape[1] > 4
    config = GenerateConfig(max_new_tokens=6, temperature=0.8, top_k=50, top_p=0.9, eos_token_id=2)
    assert generate(env.model, env.input_ids, config=config).shape[1] > 4


def stateful(env):
    config = GenerateConfig(max_new_tokens=6, max_seq_len=512, cache_kind="fp16")
    generator = Generator(env.model, config=config, device=torch.device("cpu"))
    generator.generate(env.input_ids)
    before = generator.position
    generator.generate(env.input_ids)
    assert generator.position > before > 0
    generator.reset()
    assert generator.position == 0


def every_field(env):
    config = GenerateConfig(
        cache_kind="auto", cache_budget_mb=1024, cache_quality_max_delta_nll=0.05,
        cache_quality_max_ppl_ratio=1.05, cache_quality_max_mean_kl=0.1, cache_quality_prompt_len=64,
        cache_quality_decode_steps=4, cache_auto_benchmark=True, cache_auto_bench_steps=8,
        cache_auto_bench_prompt_len=64, cache_plan_path="runs/cache_plans.json", cache_plan_probe=True,
        cache_plan_probe_interval_sec=3600, max_new_tokens=128, max_seq_len=4096, prefill_chunk=None,
    )
    assert {field.name for field in dataclasses.fields(config)} > {"decode_plan", "decode_bucket_short",
            "decode_bucket_mid", "decode_q_chunk", "decode_local_window"}


def kinds(env):
    for kind in ("fp32", "fp16", "q8", "q4", "nf4", KVCacheKind.FP16):
        config = GenerateConfig(cache_kind=kind, max_seq_len=64, max_new_tokens=4)
        assert generate(env.model, env.input_ids, config=config).shape[1] > 4


def manual_caches(env):
    q8, fp16 = (KVCacheTensorConfig(kind=kind) for kind in (KVCacheKind.Q8_0, KVCacheKind.FP16))
    cache = LayerKVCache(batch_size=2, max_seq_len=64, k_dim=256, v_dim=128, k_cfg=q8, v_cfg=fp16,
                         device=torch.device("cpu"))
    k, v = torch.randn(2, 3, 256), torch.randn(2, 3, 128)  # (B, T, dim)
    keys, values = cache.append(k, v)
    assert (keys - k).abs().max() < 0.05 and (values - v).abs().max() < 0.01
    assert cache.nbytes == 2 * 64 * (256 + 2 * 8 + 2 * 128) and cache.position == 3
    with pytest.raises(UserError, match="full"):
        cache.append(torch.zeros(2, 62, 256), torch.zeros(2, 62, 128))
    apart = DecoupledLayerKVCache(
        batch_size=1, max_seq_len=64, k_sem_dim=128, k_geo_dim=256, v_dim=256,
        k_sem_cfg=fp16, k_geo_cfg=fp16, v_cfg=fp16, device=torch.device("cpu"),
    )
    parts = apart.append(*(torch.ones(1, 2, width) for width in (128, 256, 256)))
    assert [part.shape[-1] for part in parts] == [128, 256, 256] and apart.nbytes == 64 * 1280


def speculation(env):
    config = SpeculativeConfig(spec_k=4, spec_k_adaptive=True, spec_disable_below_accept=0.3,
                               spec_method="reject_sampling", spec_extra_token=True, max_new_tokens=12)
    generator = SpeculativeGenerator(target_model=env.model, draft_model=env.model, config=config)
    output = generator.generate(env.input_ids)
    assert torch.equal(output, generate(env.model, env.input_ids, max_new_tokens=12))
    assert f"{generator.acceptance_rate:.2%}".endswith("%") and generator.acceptance_rate > 0.5


def plans(env):
    for given in ({"decode_plan": "none"}, {"decode_plan": "fixed", "decode_q_chunk": 128,
                  "decode_local_window": 512}, {"decode_plan": "auto", "decode_bucket_short": 512,
                  "decode_bucket_mid": 2048}):
        config = GenerateConfig(**given, max_new_tokens=4, max_seq_len=96)
        model = Generator.from_checkpoint(env.folder).model  # auto needs its folder's tokenizer
        assert generate(model, env.input_ids, config=config).shape[1] > 4


def long_context(env):
    config = GenerateConfig(max_seq_len=512, cache_kind="q8", decode_plan="fixed", cache_budget_mb=2048)
    assert generate(env.model, env.input_ids, config=config, max_new_tokens=4).shape[1] > 4


def batch_of_a_padded_tensor(env):
    generator = Generator(env.model, config=GenerateConfig(max_new_tokens=4))
    rows = torch.tensor([[1, 40, 50, 60], [3, 3, 1, 40]])
    assert len(generator.generate(rows)) == 2
    assert all(isinstance(token, int) for token in generator.generate_iter(env.input_ids))


# ---- this project's own tutorial


def tutorial_generate(env):
    media = torch.zeros(1, 3, env.model.thinker.config.hidden_size)
    text = generate(env.model, env.tokenizer, "Hello", max_new=6, ctx=64, multimodal_emb=media)
    assert isinstance(text, str)
    assert generate(env.model, env.tokenizer, "Hello", max_new=6, ctx=64, use_cache=False) == generate(
        env.model, env.tokenizer, "Hello", max_new=6, ctx=64
    )


def documented_settings_of_a_call(env):
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 50, "do_sample": True, "device": "cpu", "seed": 0}
    assert generate(env.model, env.tokenizer, prompt="Hello", max_new_tokens=6, **given)
    assert len(generate_batch(env.model, env.tokenizer, prompts=["A", "B"], max_new_tokens=3)) == 2
    assert list(generate_stream(env.model, env.tokenizer, "Hello", max_new_tokens=3))


def tutorial_cache(env):
    model, prompt = ThinkerLM(env.model.thinker), env.input_ids
    whole = model(prompt)
    model.enable_kv_cache(True)
    model.reset_kv_cache()
    model(prompt[:, :3])
    assert torch.allclose(model(prompt[:, 3:])[:, -1], whole[:, -1], atol=1e-4)
    model.reset_kv_cache()
    assert torch.allclose(model(embeddings=model.tok_emb(prompt)), whole, atol=1e-4)
    model.enable_kv_cache(False)
    logits, kv_cache = model(prompt[:, :3], use_cache=True)
    logits, kv_cache = model(prompt[:, 3:], kv_cache=kv_cache)
    assert torch.allclose(logits[:, -1], whole[:, -1], atol=1e-4) and kv_cache.length == 4
    assert not torch.allclose(model(prompt[:, 3:])[:, -1], whole[:, -1], atol=1e-2)  # it kept nothing


def tutorial_speech(env):
    chain = TalkerChain.from_pretrained(env.omni_folder)
    codes = chain.generate_audio_codes("Hello world", max_frames=200)
    assert chain.generate_audio_codes("Hello world", max_frames=5).shape == (1, 5, codes.shape[2])
    mel = chain.rvq.decode(codes)
    frame = chain.rvq.decode(codes[:, :1])  # frame by frame, as the chapter does
    assert mel.shape == (1, 128, 4 * codes.shape[1]) and frame.shape == (1, 128, 4)
    audio = chain.vocoder.mel_to_audio(mel)
    assert audio.dtype == np.float32 and len(audio) == 160 * mel.shape[2] and np.abs(audio).max() > 0


ROWS = (
    temperature_table, temperature_zero_is_greedy, top_p, top_k_and_greedy, generator_of_a_checkpoint,
    early_stopping, cached_is_uncached,
    quick_and_configured, stateful, every_field, kinds, manual_caches, speculation, plans, long_context,
    batch_of_a_padded_tensor,
    tutorial_generate, tutorial_cache, tutorial_speech, documented_settings_of_a_call,
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_documented_python(row, env):
    row(env)


FLAGS = (
    ["--max-new-tokens", "4"], ["--max_new_tokens=4"], ["--temperature", "0.8", "--top-k", "40"],
    ["--top-p", "0.95", "--temperature", "1.5"], ["--top-k", "0", "--top-p", "1.0"],
    ["--system-prompt", "Be brief."], ["--max-context-length", "128"], ["--do-sample"],
    ["--cache-kind", "q4"], ["--quiet"], ["--stats"],
)


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_documented_flags(flags, env, capsys):
    asked = ["--ckpt-dir", str(env.folder), "--prompt", "Hello", "--max_new_tokens", "4"]
    assert infer_chat.main(asked + flags) == 0
    shown = capsys.readouterr()
    assert shown.out.endswith("\n") and ("TIMING STATISTICS" in shown.err) == ("--stats" in flags)


def test_a_full_context_ends_a_single_answer(env, capsys):
    asked = ["--ckpt_dir", str(env.folder), "--text", "Hello", "--max-context-length", "16"]
    assert infer_chat.main([*asked, "--max_new_tokens", "100"]) == 0
    shown = capsys.readouterr()
    assert "the context is full: the answer stops here" in shown.err


def test_no_notice_lands_inside_an_answer(env, monkeypatch, capfd):
    """Answer and notices on one terminal: the answer's line is whole before any notice."""
    asked = ["--ckpt_dir", str(env.folder), "--text", "Hello", "--max-context-length", "16"]
    monkeypatch.setattr("sys.stderr", __import__("sys").stdout)
    infer_chat.main(asked)
    out = capfd.readouterr().out
    assert "\nnotice: the context is full" in out and out.count("notice:") == 1


def test_out_of_memory_and_a_missing_package_are_one_line(env, monkeypatch, capsys):
    for error, words in ((torch.OutOfMemoryError("CUDA out of memory"), "--cache_kind q8_0"),
                         (ModuleNotFoundError("no", name="tqdm"), "package tqdm is missing")):
        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr("inference.omni.Omni.stream", fail)
        assert infer_chat.main(["--ckpt_dir", str(env.folder), "--text", "Hello"]) == 2
        assert words in (told := capsys.readouterr().err) and told.count("\n") == 1


def test_a_tokenizer_from_elsewhere_that_cannot_be_read_is_one_line(env, tmp_path, capsys):
    """One that can is used: tests/inference/test_hf_tokenizer.py."""
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((env.folder / name).read_bytes())
    (tmp_path / "tokenizer.json").write_text("{}")
    assert infer_chat.main(["--ckpt_dir", str(tmp_path), "--text", "Hello"]) == 2
    told = capsys.readouterr().err
    assert "cannot read a tokenizer" in told and "train.py" not in told and told.count("\n") == 1
