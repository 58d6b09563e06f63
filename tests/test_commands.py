"""Every command: its streams, and odd values of its flags as one line and exit code 2."""

import subprocess
import sys
from unittest.mock import Mock

import pytest

import benchmark
import evaluate
import infer_chat
import serve
from data import preview
from export import draft_table
from models.errors import UserError, in_one_line, one_line_errors
from tests.conftest import ROOT, full_disk

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


@pytest.mark.parametrize("flags", [
    ("--runs_dir", "{}/file"), ("--seed", "9" * 25), ("--data_dir", ""), ("--init_from", "{}/file"),
])
def test_odd_flags_of_training_are_one_line(flags, tmp_path):
    (tmp_path / "file").touch()
    given = [flag.format(tmp_path) for flag in ("--data_dir", "{}/data", "--runs_dir", "{}/runs", *flags)]
    command = [sys.executable, "train.py", "tokenizer", "--preset", "nano", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr


def test_training_on_a_full_disk_is_one_line(tmp_path):
    line = f"ulimit -f 4; '{sys.executable}' train.py tokenizer --preset nano --real_dir ."
    line += f" --data_dir '{tmp_path}/data' --runs_dir '{tmp_path}/runs'"
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert len([word for word in done.stderr.splitlines() if word.startswith("error: ")]) == 1, done.stderr


def test_tables_of_results_that_are_not_there_are_not_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(evaluate, "write", None)  # not reached: every table would be emptied
    for name in ("none.json", ".", "/dev/zero"):
        assert one_line_errors(evaluate.main)(["tables", "--out", str(tmp_path / name)]) == 2
        assert "results" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["{}/file/x.json", "{}/loop/x.json", "/proc/x.json"])
def test_where_figures_cannot_be_written_nothing_is_measured(out, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setattr(evaluate, "measure", None)
    assert one_line_errors(evaluate.main)(["normalisation", "--out", out.format(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("flag", "name"), [("--out", "notes.txt"), ("--results", "notes.json")])
def test_a_benchmark_writes_over_nothing_of_anothers(flag, name, tmp_path, monkeypatch, capsys):
    (tmp_path / name).write_text("my notes")
    monkeypatch.setattr(benchmark, "Omni", None)
    assert benchmark.main(["decode", flag, str(tmp_path / name)]) == 2
    assert (tmp_path / name).read_text() == "my notes" and capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("host", ["x" * 300, "\udcff", "a..b", "999.1.1.1"])
def test_a_host_that_is_no_name_is_one_line(host, capsys):
    pytest.importorskip("uvicorn", reason="needs pip install -r requirements-serve.txt")
    assert serve.main(["--port", "0", "--host", host]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: cannot listen on") and err.count("\n") == 1


@pytest.mark.parametrize("url", ["http://[::1", "http://[x]/v1", "http://x:99999999/v1"])
def test_an_address_that_is_none_is_one_error(url):
    pytest.importorskip("fastapi", reason="needs pip install -r requirements-serve.txt")
    from serving.remote import RemoteEngine

    with pytest.raises(UserError, match="is no address like"):
        RemoteEngine(Mock(), url)


@pytest.mark.parametrize("flag", ["ckpt_dir", "adapter_dir", "memory_dir", "model_name", "cache_plan"])
def test_endless_names_are_one_short_line_about_themselves(flag, capsys):
    more = ["--cache_kind", "auto"] if flag == "cache_plan" else []
    assert infer_chat.main(["--text", "hi", f"--{flag}", "x/" * 3000, *more]) == 2
    err = capsys.readouterr().err
    assert "x/x/x" in err and err.count("\n") == 1 and len(err) < 600


@pytest.mark.parametrize(("flags", "words"), [
    (["--num_chunks", "0"], "--num_chunks needs --model_dir"), (["--device", "mps"], "the device 'mps'"),
    (["--device", "xla"], "the device 'xla'"),
])
def test_flags_that_were_overlooked_or_told_at_length(flags, words, nano_omni_dir, capsys):
    assert infer_chat.main(["--text", "hi", "--ckpt_dir", str(nano_omni_dir), *flags]) == 2
    err = capsys.readouterr().err
    assert words in err and len(err) < 300


def test_memory_that_ends_is_one_line():
    with pytest.raises(MemoryError) as caught:
        bytearray(10**18)
    assert "out of memory" in str(in_one_line(caught.value))


def test_a_sheet_of_pictures_is_written_whole_or_not_at_all(tmp_path, capsys):
    flags = ["--objects", "shapes", "--styles", "noto", "--out", str(tmp_path / "x.png")]
    assert preview.main([*flags, "--count", "9" * 30]) == 2
    (tmp_path / "x.png").write_bytes(b"old")
    with full_disk():
        assert preview.main([*flags, "--count", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
