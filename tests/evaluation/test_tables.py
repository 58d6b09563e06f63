"""Tables come from the results alone, and documents that differ from them are found."""

from pathlib import Path

import pytest

import evaluate
from evaluation.results import error_rate, mean, rate, read_results, save_section
from evaluation.speeds import save_speeds
from evaluation.tables import TABLES, renewed, stale, write
from models.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
MARKED = "# A\n\n<!-- results:{name} -->\nold\n<!-- /results -->\n\nend\n"


@pytest.fixture
def results_file(tmp_path) -> Path:
    path = tmp_path / "docs" / "results.json"
    right = {"scene/all": rate([True] * 9 + [False]), "scene/color": rate([True] * 4)}
    save_section(path, "vision", {"seed": 3}, right)
    save_section(path, "audio", {"seed": 3}, {"quiet/wer": error_rate([(1, 4), (0, 6)])})
    return path


def test_sections_are_replaced_one_at_a_time(results_file):
    save_section(results_file, "audio", {}, {"quiet/cer": mean([0.5, 0.5])})
    results = read_results(results_file)
    assert set(results) == {"vision", "audio"}
    assert set(results["audio"]["figures"]) == {"quiet/cer"}
    figure = results["vision"]["figures"]["scene/all"]
    assert (figure["value"], figure["n"], figure["seed"]) == (0.9, 10, 3)
    assert figure["low"] < 0.9 < figure["high"]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_made_with_and_without_results(name, results_file):
    for results in ({}, read_results(results_file)):
        text = renewed(MARKED.format(name=name), results, "a")
        assert "old" not in text and text.endswith("end\n")
        assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_stale_documents_are_found_and_renewed(results_file, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(MARKED.format(name="vision"))
    results = read_results(results_file)
    assert stale(tmp_path, results) == [readme]
    assert write(tmp_path, results) == [readme]
    assert "90.0 % (59.6–98.2, n = 10)" in readme.read_text()
    assert stale(tmp_path, results) == [] == write(tmp_path, results)


def test_unknown_table_is_named():
    with pytest.raises(UserError, match="results:nothing"):
        renewed(MARKED.format(name="nothing"), {}, "a.md")


def test_documents_of_this_repository_are_up_to_date(capsys):
    assert evaluate.main(["tables", "--check"]) == 0, capsys.readouterr().out


def test_missing_checkpoint_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="no checkpoint"):
        evaluate.main(["vision", "--ckpt_dir", str(tmp_path / "no"), "--out", str(tmp_path / "r")])
    with pytest.raises(UserError, match="--limit"):
        evaluate.main(["vision", "--limit", "0"])


def test_a_bench_that_was_not_run_keeps_its_timings(tmp_path):
    path = tmp_path / "results.json"
    run = {"weights": "0123", "dtype": "fp32", "threads": 2, "rounds": 5, "tokens": 64}
    start = {"torch": {"seconds": 2.0, "ratio": 1.0}, "chat": {"seconds": 3.0, "ratio": 1.5}}
    save_speeds(path, run | {"start": start, "llama": {}, "cache": {"fp32": {"ratio": 1.0}}})
    decode = {"eager, 1": {"tokens_per_second": 100.0, "ratio": 1.0}}
    save_speeds(path, run | {"decode": decode})
    results = read_results(path)
    assert set(results["speed"]["about"]) == {"start", "decode"}
    lines = TABLES["speed"](results).splitlines()[2:]
    assert lines == [
        "| decode | eager, 1 | 100 | 1.00 |",
        "| start | chat | 3.00 s | 1.50 |",
        "| start | torch | 2.00 s | 1.00 |",
    ]
