"""Benches of benchmark.py on untrained weights: who takes part, and what becomes of the figures.

How fast anything is, no test says.
"""

import json

import pytest

import benchmark
from benchmarks import contestants, growth, llama, memory, reading
from benchmarks.contestants import interleaved
from evaluation.plots import PLOTS, stale_plots, write_plots
from evaluation.results import read_results
from evaluation.tables import TABLES
from export.llamacpp import library_path
from inference.generation import generate_batch
from inference.omni import Omni
from inference.prompt import Prompt
from models.errors import UserError


@pytest.fixture
def bench(nano_omni_dir, tmp_path, compiled_step, monkeypatch):
    """Run benches briefly; gives their figures and the results file they renew."""
    if compiled_step is None:
        pytest.skip("no compiler")
    monkeypatch.setattr(growth, "CONTEXTS", (4, 8, 5000))
    monkeypatch.setattr(growth, "SIZES", (1, 2))
    monkeypatch.setattr(reading, "LENGTHS", (8, 16))
    monkeypatch.setattr(llama, "READ", 40)

    def run(*names: str) -> tuple[dict, dict]:
        out, results = tmp_path / "out.json", tmp_path / "results.json"
        flags = ["--ckpt_dir", str(nano_omni_dir), "--rounds", "1", "--tokens", "3"]
        assert benchmark.main([*names, *flags, "--out", str(out), "--results", str(results)]) == 0
        return json.loads(out.read_text()), read_results(results)

    return run


@pytest.fixture
def alone(monkeypatch):
    """Nobody but ourselves is installed."""
    monkeypatch.delenv("MUOMNI_LLAMA_CPP", raising=False)
    monkeypatch.setattr(llama, "llama_missing", lambda bench: True)
    monkeypatch.setattr(growth, "llama_missing", lambda bench: True)
    monkeypatch.setattr(contestants, "transformers_missing", lambda: True)


def names(table: dict) -> set[str]:
    return {name.rsplit(", ", 1)[0] for name in table}


def test_growth_becomes_tables_and_plots(bench, alone, tmp_path):
    found, results = bench("context", "batch")
    assert names(found["context"]) == {"no cache", "eager", "compiled"}
    assert {name.split(", ")[1] for name in found["context"]} == {"4", "8"}, "5000 do not fit"
    assert names(found["batch"]) == {"eager fp32", "compiled bf16", "compiled int8"}
    rows = TABLES["context"](results).splitlines()
    assert rows[0] == "| tokens before | compiled | eager | no cache |"
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| 4", "| 8"]
    assert rows[2].count(" ms") == 3
    assert "context" not in TABLES["speed"](results), "they have tables of their own"
    write_plots(tmp_path, results)
    assert stale_plots(tmp_path, results) == [] == write_plots(tmp_path, results)
    results["speed"]["figures"]["batch/eager fp32, 2/tokens_per_second"]["value"] += 1
    assert [path.name for path in stale_plots(tmp_path, results)] == ["speed-batch.png"]


def test_plots_are_the_same_when_drawn_again(tmp_path):
    written = [[p.read_bytes() for p in write_plots(tmp_path / name, {})] for name in "ab"]
    assert written[0] == written[1] and len(written[0]) == len(PLOTS)


def test_transformers_takes_part_in_reading_and_decoding(bench):
    pytest.importorskip("transformers")
    found, results = bench("decode", "prefill")
    theirs = {"transformers fp32", "transformers bf16"}
    ours = {"ours fp32", "ours bf16", "ours int8"}
    assert names(found["prefill"]) == theirs | ours
    assert theirs | {"transformers bf16 static"} < names(found["decode"])
    assert found["prefill"]["transformers fp32, 16"]["ratio"] == 1
    assert "| prefill | ours int8, 16 |" in TABLES["speed"](results)


def test_memory_is_that_of_a_process_of_its_own(bench, alone, monkeypatch):
    monkeypatch.setattr(memory, "KINDS", {"eager": ("bf16",), "compiled": ("int8",)})
    found, results = bench("memory")
    for row in found["memory"].values():
        assert 0 < row["grown_megabytes"] < row["megabytes"]
    assert TABLES["memory"](results).count(" MB") == 4


def test_a_contestant_that_fails_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="memory of eager fp32 cannot be measured: .*model"):
        memory.measure("eager", "fp32", tmp_path, 1)


def test_reading_counts_the_prompt_and_speeds_are_medians(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    run = contestants.reader(omni, Prompt([5, 6, 7]))
    assert [run(), run()] == [3, 3]
    table = interleaved({"one": lambda: 1, "two": lambda: 2}, 3)
    assert table["one"]["ratio"] == 1 and table["two"]["tokens_per_second"] > 0


def test_decoding_without_a_cache_counts_its_tokens(nano_omni_dir):
    assert contestants.rereader(Omni.from_pretrained(nano_omni_dir), Prompt([5, 6]), 2)() == 2


@pytest.mark.skipif(library_path() is None, reason="no llama.cpp")
def test_rows_of_llama_cpp_are_those_of_one_and_ours(nano_omni_dir):
    omni = Omni.from_pretrained(nano_omni_dir)
    prompts = [[5, 60, 70], [8, 9, 10]]
    with llama.gguf_file(omni, "f32") as path, llama.LlamaCpp(path, 16, rows=2) as opened:
        rows = opened.greedy_rows(prompts, 8)
        assert rows == opened.greedy_rows(prompts, 8), "what was read before is forgotten"
        assert rows == [opened.greedy(prompt, 8) for prompt in prompts]
    config = contestants.settings(omni, 8, native="off")
    assert rows == generate_batch(omni.model, [Prompt(ids) for ids in prompts], config)


@pytest.mark.skipif(library_path() is None, reason="no llama.cpp")
def test_llama_cpp_takes_part(bench):
    found, _ = bench("llama", "batch")
    for kind, dtype in llama.PAIRS.items():
        for what in ("read", "decode", "decode 8"):
            assert f"llama.cpp {kind}, {what}" in found["llama"]
            assert f"ours {dtype}, {what}" in found["llama"]
        assert f"llama.cpp {kind}, 2" in found["batch"]
