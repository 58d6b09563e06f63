"""Guide S0 (a Core ML chat script): its flags, functions, files and rows, with module paths changed.

The packages are ONNX ones, which run here; the rows that only Core ML shows are in
tests/export/test_chunks.py.
"""

import inspect
from pathlib import Path

import numpy as np
import pytest

import infer_chat
from export.chunks import main as export
from inference.chunked import CoreMLLanguageModel, chat_loop, generate
from inference.session import ChatSession
from inference.timing import Timing, cache_block
from models import errors

for name in ("onnx", "onnxruntime", "transformers"):
    pytest.importorskip(name, reason="needs pip install -r requirements-chunks.txt")

TEXT = Path(__file__).resolve().parent.parent / "checkpoints" / "thinker_tiny"
HYPHENS = hasattr(errors, "Parser")  # every flag with hyphens, too
FLAGS = {
    "model-dir": "{four}", "model-name": "{text}", "embeddings": "{four}/embeddings.npy",
    "lm-head": "{four}/lm_head.onnx", "chunked": None, "num-chunks": "4",
    "max-context-length": "256", "cache-compiled": None, "temperature": "0.8", "top-k": "40",
    "top-p": "0.95", "max-new-tokens": "8", "system-prompt": "You are kind.",
    "prompt": "What is a dog?", "quiet": None, "analyze-compute-plan": None,
}
NEEDED = ("model-dir", "model-name", "chunked", "num-chunks", "prompt", "max-new-tokens")
COMBINED = "--temperature 0.7 --top-k 50 --top-p 0.9 --max-new-tokens 20"
SETTINGS = [
    *(f"--temperature {value}" for value in (0.1, 0.8, 1.5)), *(f"--top-k {k}" for k in (0, 40, 10)),
    *(f"--top-p {p}" for p in (1.0, 0.95, 0.8)), COMBINED,
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """The single model and the chunked one of the guide."""
    out = tmp_path_factory.mktemp("guide")
    more = ["--ckpt-dir", str(TEXT), "--target", "onnx", "--export-embeddings", "--export-lm-head"]
    assert export([*more, "--num-chunks", "1", "--out", str(out / "one")]) == 0
    assert export([*more, "--num-chunks", "4", "--out", str(out / "four")]) == 0
    return {"one": out / "one", "four": out / "four", "text": TEXT}


def spelled(flag: str) -> str:
    return f"--{flag}" if HYPHENS else "--" + flag.replace("-", "_")


def command(folders, *names: str) -> list[str]:
    words = []
    for name in names:
        value = FLAGS[name]
        words += [spelled(name)] + ([value.format(**folders)] if value is not None else [])
    return words


@pytest.mark.parametrize("flag", FLAGS)
def test_flag(folders, flag, capsys):
    words = command(folders, *dict.fromkeys((*NEEDED, flag)))
    if flag == "max-context-length" and not HYPHENS:
        pytest.skip("--max_context_length is not there yet")
    assert infer_chat.main(words) == 0
    assert capsys.readouterr().out.strip()


def test_every_flag_reaches_what_it_is_for(folders, monkeypatch, capsys):
    from inference.chunked import model
    from inference.omni import Omni

    loaded_with, asked_with, load, stream = {}, {}, model.load_chunks, Omni.stream
    monkeypatch.setattr(model, "load_chunks", lambda **given: loaded_with.update(given) or load(**given))
    monkeypatch.setattr(
        Omni, "stream",
        lambda self, text, **given: asked_with.update(given, text=text) or stream(self, text, **given),
    )
    flags = [flag for flag in FLAGS if flag != "analyze-compute-plan"]
    assert infer_chat.main(command(folders, *flags)) == 0
    four = str(folders["four"])
    assert loaded_with == {
        "model_dir": four, "model_name": str(TEXT), "embeddings": f"{four}/embeddings.npy",
        "lm_head": f"{four}/lm_head.onnx", "chunked": True, "num_chunks": 4, "cache_compiled": True,
    }  # fmt: skip
    settings = {
        "max_seq_len": 256, "temperature": 0.8, "top_k": 40, "top_p": 0.95, "max_new_tokens": 8,
        "system_prompt": "You are kind.", "text": "What is a dog?",
    }  # fmt: skip
    assert {name: asked_with[name] for name in settings} == settings


@pytest.mark.parametrize("setting", SETTINGS)
def test_sampling(folders, setting, capsys):
    words = setting.split()
    words = [spelled(word[2:]) if word.startswith("--") else word for word in words]
    if "--max" not in setting:
        words += [spelled("max-new-tokens"), "4"]
    base = command(folders, "model-dir", "model-name", "chunked", "num-chunks", "prompt")
    assert infer_chat.main([*base, *words]) == 0


@pytest.mark.parametrize("model", ["{one}", "{one}/chunk_0.onnx"])
def test_single_model(folders, model, capsys):
    words = [spelled("model-dir"), model.format(**folders), *command(folders, "model-name", "prompt")]
    assert infer_chat.main(words) == 0
    assert capsys.readouterr().out.strip().startswith("A dog is")


@pytest.mark.parametrize(
    "file", [*(f"chunk_{i}.onnx" for i in range(4)), "embeddings.npy", "lm_head.onnx"]
)
def test_required_file(folders, file, tmp_path):
    import shutil

    assert (folders["four"] / file).is_file()
    shutil.copytree(folders["four"], tmp_path / "less")
    (tmp_path / "less" / file).unlink()
    with pytest.raises(errors.UserError, match="missing"):
        CoreMLLanguageModel(tmp_path / "less", is_chunked=True, num_chunks=4)


def test_embeddings_are_fp16(folders):
    assert np.load(folders["four"] / "embeddings.npy").dtype == np.float16


def loaded(folders) -> CoreMLLanguageModel:
    return CoreMLLanguageModel(
        model_dir=f"{folders['four']}",
        embeddings_path=f"{folders['four']}/embeddings.npy",
        lm_head_path=f"{folders['four']}/lm_head.onnx",
        is_chunked=True,
        num_chunks=4,
    )


def test_programmatic_usage(folders):
    from transformers import AutoTokenizer

    model = loaded(folders)
    tokenizer = AutoTokenizer.from_pretrained(folders["four"])
    response = generate(
        model=model,
        tokenizer=tokenizer,
        prompt="What is a dog?",
        max_new_tokens=100,
        temperature=0.8,
        top_k=40,
        top_p=0.95,
    )
    assert isinstance(response, str) and response.strip()
    from inference import Omni

    right = Omni.from_pretrained(TEXT).chat("What is a dog?", native="off")
    assert generate(model, tokenizer, "What is a dog?", temperature=0.0) == right


@pytest.mark.parametrize("function", [generate, chat_loop])
@pytest.mark.parametrize(
    "name, default", [("max_new_tokens", 100), ("temperature", 0.8), ("top_k", 40), ("top_p", 0.95)]
)
def test_documented_defaults(function, name, default):
    assert inspect.signature(function).parameters[name].default == default


def test_chat_loop_and_its_commands(folders, monkeypatch, capsys):
    lines = iter(["/help", "My name is Anna.", "What is my name?", "/reset", "What is my name?", "/quit"])
    monkeypatch.setattr("builtins.input", lambda *_: next(lines))
    from models.tokenizer import Tokenizer

    chat_loop(loaded(folders), Tokenizer(TEXT / "tokenizer.model"), temperature=0.0)
    out = capsys.readouterr().out
    assert "/reset" in out and out.count("Anna.") == 1 and "forgotten" in out
    assert not list(lines)  # /quit was the last


def test_a_prompt_goes_through_in_pieces_of_seq_len(folders, monkeypatch):
    import torch

    model, calls = loaded(folders), []
    run = model.chunks[0].chunk
    monkeypatch.setattr(
        model.chunks[0], "chunk", lambda x, at, state: calls.append((x, at)) or run(x, at, state)
    )
    model.hidden(model.embed(torch.arange(100)[None]))
    assert [at for _, at in calls] == list(range(0, 100, 8)) and len(calls) == 13
    assert {x.shape for x, _ in calls} == {(1, 256, 1, 8)}
    last = calls[-1][0]  # 4 tokens, then the last of them 4 times
    assert (last[..., 4:] == last[..., 3:4]).all() and (last[..., 2] != last[..., 3]).any()


@pytest.mark.parametrize("position, state", [(71, "OK"), (75, "WARNING"), (90, "WARNING"), (91, "CRITICAL")])
def test_status_levels(folders, position, state):
    from inference.chunked.model import as_omni
    from models.tokenizer import Tokenizer

    omni = as_omni(loaded(folders), Tokenizer(TEXT / "tokenizer.model"))
    session: ChatSession = omni.session(max_seq_len=100)
    session.generator.ids = [0] * position
    assert f"[{state}]" in session.level()


def test_status_lines():
    assert cache_block(512, 1024).splitlines() == [
        "KV Cache usage:", "  Position: 512 / 1024 (50.0%) [OK]", "  Remaining capacity: 512 tokens",
    ]  # fmt: skip


def test_timing_statistics():
    timing = Timing(prompt_tokens=40, prefill=0.2, tokens=20, model=0.5, head=0.04, sampling=0.01)
    assert timing.block().splitlines() == [
        "TIMING STATISTICS", "-" * 50, "Prompt processing:", "  Tokens: 40",
        "  Model forward time: 200.00 ms", "  Speed: 200.00 tokens/sec", "", "Token generation:",
        "  Tokens generated: 20", "  Model forward time: 500.00 ms (25.00 ms/token)",
        "  LM head time: 40.00 ms (2.00 ms/token)", "  Sampling time: 10.00 ms (0.50 ms/token)",
        "  Total generation time: 550.00 ms", "  Speed: 36.36 tokens/sec",
    ]  # fmt: skip


def test_overflow_in_a_chat_is_told_and_the_chat_goes_on(folders, monkeypatch, capsys):
    from models.tokenizer import Tokenizer

    model = CoreMLLanguageModel(folders["four"], is_chunked=True, num_chunks=4, max_context_length=48)
    lines = iter(["Tell me about a dog.", "And a cat?", "What is the sea?", "Hello", "/quit"])
    monkeypatch.setattr("builtins.input", lambda *_: next(lines))
    with pytest.warns(UserWarning, match="the context is full"):
        chat_loop(model, Tokenizer(TEXT / "tokenizer.model"), temperature=0.0, max_new_tokens=12)
    assert capsys.readouterr().out.count("μOmni: ") == 4 and not list(lines)


def test_overflow_ends_a_single_prompt(folders):
    model = CoreMLLanguageModel(folders["four"], is_chunked=True, num_chunks=4, max_context_length=14)
    from models.tokenizer import Tokenizer

    with pytest.warns(UserWarning, match="the context is full"):
        generate(model, Tokenizer(TEXT / "tokenizer.model"), "Tell me a story.", temperature=0.0)
