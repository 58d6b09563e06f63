"""Every command: its streams, and odd values of its flags as one line and exit code 2."""

import subprocess
import sys

import pytest

import benchmark
import evaluate
from export import draft_table
from models.errors import one_line_errors
from tests.conftest import ROOT

TOY = """
import sys
from models.errors import one_line_errors
@one_line_errors
def main():
    with open(sys.argv[1], "w") as file:
        print("an answer \u2713")
        sys.stderr.write("remarks" if file.fileno() > 2 else "over the file")
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("streams", "code"), [("", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0), (">/dev/full", 2)]
)
def test_streams_that_are_closed_full_or_latin(streams, code, tmp_path):
    command = f"PYTHONIOENCODING=latin-1 '{sys.executable}' -c '{TOY}' '{tmp_path / 'file'}' {streams}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert (tmp_path / "file").read_text() == ""
    if not streams:
        assert (done.stdout, done.stderr) == ("an answer ?\n", "remarks")


@pytest.mark.parametrize("flags", [
    ("--out", "/no/such/x.safetensors"), ("--out", "{}"), ("--out", "{}/x.txt"),
    ("--out", "{}/x.safetensors/"),
    ("--answers", "-3"), ("--conversations", "-1", "--out", "{}/x.safetensors"),
])
def test_a_draft_table_is_refused_before_anything_is_counted(flags, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(draft_table, "training_chats", None)  # not called
    (tmp_path / "x.safetensors").mkdir(parents=True)
    assert draft_table.main([flag.format(tmp_path) for flag in flags]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_where_results_go_is_checked_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "Omni", None)  # neither is reached
    monkeypatch.setattr(evaluate, "measure", None)
    for run, flag in (benchmark.main, "--out"), (benchmark.main, "--results"), (evaluate.main, "--out"):
        what = "normalisation" if run is evaluate.main else "decode"
        assert one_line_errors(run)([what, flag, str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and str(tmp_path) in err


@pytest.mark.parametrize("flags", [("--runs_dir", "{}/file"), ("--seed", "9" * 25), ("--data_dir", "")])
def test_odd_flags_of_training_are_one_line(flags, tmp_path):
    (tmp_path / "file").touch()
    given = [flag.format(tmp_path) for flag in ("--data_dir", "{}/data", "--runs_dir", "{}/runs", *flags)]
    command = [sys.executable, "train.py", "tokenizer", "--preset", "nano", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
