"""Exported chunks give the Thinker's greedy tokens, and every misuse is one line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import infer_chat
from export.chunks import Options, run
from inference import GenerateConfig, Omni, Prompt, generate
from inference.chunked import CoreMLLanguageModel, load_chunks
from inference.chunked.thinker import log_probabilities
from inference.generation import Generator, generate_batch
from models.errors import UserError
from tests.inference.conftest import picture, tone
from tests.inference.turns import first_turn

for name in ("onnx", "onnxruntime"):
    pytest.importorskip(name, reason="needs pip install -r requirements-chunks.txt")

ROOT = Path(__file__).resolve().parents[2]
COUNTS = (1, 2, 4)
PLAIN = {"think": False, "num_beams": 1, "ctc_weight": 0.0, "native": "off", "max_new_tokens": 12}


@pytest.fixture(scope="module")
def folders(shipped_dir, tmp_path_factory) -> dict[int, Path]:
    """The shipped model in 1, 2 and 4 chunks."""
    made = tmp_path_factory.mktemp("chunks")
    found = {count: made / str(count) for count in COUNTS}
    for count, folder in found.items():
        run(shipped_dir, folder, Options(num_chunks=count, embeddings=True, lm_head=True))
    return found


@pytest.fixture(scope="module")
def whole(shipped_dir) -> Omni:
    return Omni.from_pretrained(shipped_dir)


@pytest.fixture(scope="module")
def four(folders) -> Omni:
    return load_chunks(folders[4], chunked=True, num_chunks=4)


def requests() -> list[dict]:
    sample = str(ROOT / "examples" / "sample_image.png")
    return [
        {"text": "What is a dog?"},
        {"text": "Tell me about the sea, the sun and the long road to the old house."},
        {"text": "What do you see?", "image": sample},
        {"audio": str(ROOT / "examples" / "question.wav")},
        {"text": "And this?", "image": picture(1), "audio": (tone(440.0), 16_000)},
    ]


def prompt_of(omni: Omni, request: dict, config):
    keys = ("text", "image", "audio", "video", "system_prompt")
    return first_turn(omni, *map(request.get, keys), config)


@pytest.fixture(scope="module")
def replies(whole) -> list:
    """(prompt, the Thinker's greedy tokens) of each request."""
    config = whole.config(**PLAIN)
    prompts = [prompt_of(whole, request, config) for request in requests()]
    return [(prompt, generate(whole.model, prompt, config)) for prompt in prompts]


@pytest.mark.parametrize("count", COUNTS)
def test_greedy_tokens_are_the_thinkers(folders, whole, replies, count):
    chunked = load_chunks(folders[count], chunked=count > 1, num_chunks=count)
    config = whole.config(**PLAIN)
    assert [generate(chunked.model, prompt, config) for prompt, _ in replies] == [
        reply for _, reply in replies
    ]


def test_a_chunk_with_other_weights_gives_other_tokens(folders, whole, tmp_path):
    import onnx

    folder = tmp_path / "other"
    shutil.copytree(folders[2], folder)
    model = onnx.load(folder / "chunk_1.onnx")
    for weight in model.graph.initializer:
        numbers = onnx.numpy_helper.to_array(weight)
        if numbers.ndim == 2:
            weight.CopyFrom(onnx.numpy_helper.from_array(-numbers, weight.name))
    onnx.save(model, folder / "chunk_1.onnx")
    config = whole.config(**PLAIN)
    prompt = prompt_of(whole, requests()[0], config)
    other = load_chunks(folder, True, 2)
    assert generate(other.model, prompt, config) != generate(whole.model, prompt, config)


def test_rows_of_a_batch_are_answered_as_alone(four, whole):
    config = whole.config(**PLAIN)
    prompts = [prompt_of(whole, request, config) for request in requests()[:3]]
    assert generate_batch(four.model, prompts, config) == [
        generate(four.model, prompt, config) for prompt in prompts
    ]


def test_padding_takes_no_context(shipped_dir, tmp_path):
    """A short row beside a long one may still be answered; a row whose context is full is done."""
    options = Options(num_chunks=1, seq_len=4, max_context_length=24, embeddings=True, lm_head=True)
    run(shipped_dir, tmp_path / "small", options)
    model = load_chunks(tmp_path / "small").model
    prompts = [Prompt(list(range(40, 61))), Prompt([1, 50, 60, 70])]
    asked = GenerateConfig(max_new_tokens=12, prefill_chunk=4, eos_token_id=None)  # one part all padding
    with pytest.warns(UserWarning, match="the context is full"):
        alone = [generate(model, prompt, asked) for prompt in prompts]
        together = generate_batch(model, prompts, asked)
    assert together == alone and [len(reply) for reply in alone] == [3, 12]
    for rows in (1, 2):
        with pytest.raises(UserError, match="KV cache is full: 25"):
            model.thinker(torch.full((rows, 25), 50))


@pytest.mark.parametrize("settings, words", [
    ({"cache_kind": "auto"}, "chunks keep numbers as they were exported"),
    ({"cache_budget_mb": 1.0}, "leave cache_budget_mb out"),
])
def test_cache_settings_are_refused_in_one_line(four, settings, words):
    with pytest.raises(UserError, match=words):
        four.chat("Hello", **settings)


def test_beams_and_guesses_are_the_thinkers(four, whole):
    question = "What is a dog?"
    assert four.chat(question, num_beams=3) == whole.chat(question, num_beams=3)
    four.use_draft("lookup")
    try:
        text = "Say: the red fox. Say: the red fox."
        assert four.chat(text) == whole.chat(text, native="off")
    finally:
        four.new_generator = Generator


def test_a_session_reads_only_what_is_new(four, whole):
    ours, theirs = four.session(), whole.session(native="off")
    for text in ("Hello", "My name is Anna.", "What is my name?"):
        assert ours.ask(text) == theirs.ask(text)
        assert ours.last_prefill == theirs.last_prefill < 30


def test_probabilities_are_put_together_from_the_parts(four, whole):
    thinker = four.model.thinker
    hidden = torch.randn(11, thinker.config.hidden_size, generator=torch.Generator().manual_seed(0))
    right = whole.model.thinker.logits(hidden).log_softmax(-1)
    assert torch.allclose(thinker.logits(hidden), right, atol=1e-4)
    outputs = thinker.lm_head.head(thinker._columns(hidden[:8]))
    assert outputs["logits"].shape == (1, 4096, 1, 8)
    assert outputs["chunk_max"].shape == outputs["chunk_logsumexp_stable"].shape == (1, 4, 1, 8)
    outputs["chunk_max"] = outputs["chunk_max"] + 1.0  # a part that is off is seen
    assert not torch.allclose(log_probabilities(outputs), right[:8], atol=0.5)


def test_a_full_context_is_read_to_its_end(shipped_dir, whole, tmp_path):
    options = Options(num_chunks=2, seq_len=5, max_context_length=13, embeddings=True, lm_head=True)
    run(shipped_dir, tmp_path / "small", options)
    thinker = load_chunks(tmp_path / "small", True, 2).model.thinker
    x = whole.model.thinker.embed(torch.arange(40, 53)[None])
    cache = thinker.new_cache(1)
    found = torch.cat([thinker.hidden(part, cache=cache) for part in x.split(6, 1)], 1)  # pieces padded
    assert torch.allclose(found, whole.model.thinker.hidden(x), atol=1e-3)
    with pytest.raises(UserError, match="KV cache is full"):
        thinker.hidden(x[:, :1], cache=cache)
    with pytest.raises(UserError, match="windows"):
        cache.windows = ((8, 4),)


def test_compiled_forms_are_kept_found_and_made_anew(folders, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    shutil.copytree(folders[2], folder)
    load_chunks(folder, True, 2)
    assert not list(folder.glob("*.compiled*"))
    answers = [load_chunks(folder, True, 2, cache_compiled=True).chat("Hello")]
    forms = sorted(folder.glob("*.compiled.onnx"))
    assert [form.name for form in forms] == [
        "chunk_0.compiled.onnx", "chunk_1.compiled.onnx", "lm_head.compiled.onnx"
    ]
    times = [form.stat().st_mtime_ns for form in forms]
    (folder / "chunk_1.onnx").rename(folder / "away")  # found again: the source is not optimised
    (folder / "away").rename(folder / "chunk_1.onnx")
    answers.append(load_chunks(folder, True, 2).chat("Hello"))
    assert [form.stat().st_mtime_ns for form in forms] == times
    forms[0].write_bytes(b"damaged")
    note = json.loads(forms[1].with_name(forms[1].name + ".json").read_text())
    forms[1].with_name(forms[1].name + ".json").write_text(json.dumps(note | {"processor": "other"}))
    with pytest.warns(UserWarning, match="made again"):
        answers.append(load_chunks(folder, True, 2).chat("Hello"))
    assert all(form.stat().st_mtime_ns > time for form, time in zip(forms[:2], times[:2]))
    assert forms[2].stat().st_mtime_ns == times[2] and len(set(answers)) == 1
    forms[0].write_bytes(b"damaged")
    monkeypatch.setattr(os, "access", lambda *_: False)  # a folder that cannot be written
    with pytest.warns(UserWarning, match="nothing compiled is kept"):
        assert load_chunks(folder, True, 2).chat("Hello") == answers[0]
    assert forms[0].read_bytes() == b"damaged"


def test_the_command_chats_from_them(folders):
    flags = ("--model_dir", folders[4], "--chunked", "--num_chunks", 4)
    more = ("--embeddings", folders[2] / "embeddings.npy", "--lm_head", folders[2] / "lm_head.onnx")
    done = subprocess.run(
        [sys.executable, ROOT / "infer_chat.py", *map(str, (*flags, *more)), "--quiet"],
        input="What is a dog?\n/quit\n", capture_output=True, text=True, timeout=120, cwd="/",
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.strip() == load_chunks(folders[1]).chat("What is a dog?")


def test_the_plan_says_what_runs_where(folders, capsys):
    flags = ["--model_dir", str(folders[2]), "--chunked", "--analyze_compute_plan"]
    assert infer_chat.main(flags) == 0
    out = capsys.readouterr().out
    assert out.count("CPUExecutionProvider:") == 3 and "MatMul" in out and "chunk_1.onnx" in out


BAD = [
    (("--chunked",), "--chunked needs --model_dir"),
    (("--analyze_compute_plan",), "--analyze_compute_plan needs --model_dir"),
    (("--model_dir", "/nowhere"), "there is no model at /nowhere"),
    (("--model_dir", "{empty}"), "no manifest.json in"),
    (("--model_dir", "{four}"), "use --chunked --num_chunks 4"),
    (("--model_dir", "{four}", "--chunked", "--num_chunks", "2"), "holds 4 chunks, not 2"),
    (("--model_dir", "{four}", "--chunked", "--num_chunks", "0"), "at least 1, not 0"),
    (("--model_dir", "{four}/chunk_0.onnx",), "is one of 4 chunks"),
    (("--model_dir", "{one}", "--embeddings", "/no.npy"), "missing /no.npy"),
    (("--model_dir", "{one}", "--lm_head", "/no.onnx"), "missing /no.onnx"),
    (("--model_dir", "{one}", "--embeddings", "{one}/chunk_0.onnx"), "is no table of embeddings"),
    (("--model_dir", "{one}", "--embeddings", "{wrong}"), "but the chunks need numbers of shape"),
    (("--model_dir", "{one}", "--lm_head", "{one}/embeddings.npy"), "neither an .onnx file nor"),
    (("--model_dir", "{one}", "--lm_head", "{broken}"), "ONNX Runtime cannot read"),
    (("--model_dir", "{one}", "--lm_head", "{one}/chunk_0.onnx"), "does not fit its manifest"),
    (("--model_dir", "{damaged}"), "is damaged"),
    (("--model_dir", "{one}", "--ckpt_dir", "x"), "name two models"),
    (("--model_dir", "{one}", "--dtype", "bf16"), "--dtype does not go with --model_dir"),
    (("--model_dir", "{one}", "--cache_kind", "q8_0"), "--cache_kind does not go with"),
    (("--model_dir", "{one}", "--native", "on"), "does not know a ChunkedThinker"),
]


@pytest.mark.parametrize("flags, said", BAD, ids=[said for _, said in BAD])
def test_misuse_is_one_line(folders, tmp_path, capsys, flags, said):
    names = {name: tmp_path / name for name in ("empty", "wrong.npy", "broken.onnx", "damaged")}
    names["empty"].mkdir()
    np.save(names["wrong.npy"], np.zeros((3, 4), np.float16))
    names["broken.onnx"].write_bytes(b"no graph")
    names["damaged"].mkdir()
    manifest = json.loads((folders[1] / "manifest.json").read_text()) | {"layers": [[0, 2], [3, 6]]}
    (names["damaged"] / "manifest.json").write_text(json.dumps(manifest))
    places = {name.split(".")[0]: path for name, path in names.items()}
    places |= {"one": folders[1], "four": folders[4]}
    code = infer_chat.main([flag.format(**places) for flag in (*flags, "--text", "Hello")])
    out, err = capsys.readouterr()
    assert (code, out.strip(), err.count("\n")) == (2, "", 1)
    assert said in err


def test_without_the_runtime_it_names_the_command(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match="requirements-chunks.txt"):
        CoreMLLanguageModel(folders[1])
