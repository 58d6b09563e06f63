"""Everyday faults: names as shells drop them, odd bytes, full disks, no home, wrong flags. One line each."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import infer_chat
from data import preview
from export import vllm
from inference import Omni, manifest
from inference.repl import read_paths
from models.errors import UserError
from tests.conftest import ROOT
from tests.inference.conftest import picture
from tests.inference.damage import CASES

ENTRIES = ("infer_chat.py", "train.py", "serve.py", "evaluate.py", "benchmark.py", "inference/manifest.py",
           "inference/codec.py")  # fmt: skip


def shell(line: str, typed: bytes = b"", **environment: str | None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a shell line; a variable of None is unset."""
    setting = {**os.environ, **environment}
    done = subprocess.run(
        ["bash", "-c", line], input=typed, capture_output=True, timeout=120, check=False,
        env={name: value for name, value in setting.items() if value is not None},
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err, err
    return done.returncode, out, err


@pytest.fixture
def chat(nano_omni_dir) -> str:
    return f"'{sys.executable}' '{ROOT / 'infer_chat.py'}' --ckpt_dir '{nano_omni_dir}' --max_new_tokens 6"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("~/x.png", ["{home}/x.png"]), ('"a b.png"', ["a b.png"]), ("'a b.png'", ["a b.png"]),
        (r"a\ b.png", ["a b.png"]), ("file:///tmp/a%20b.png", ["/tmp/a b.png"]),
        ("mia's.png", ["mia's.png"]), ("a.png b.png", ["a.png", "b.png"]),
        (r"it\'s\ \(1\).png", ["it's (1).png"]), ("", []), ("~nobody_here/x.png", ["~nobody_here/x.png"]),
    ],
)  # fmt: skip
def test_names_are_read_as_a_shell_reads_them(typed, read, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_paths(typed) == [name.format(home=tmp_path) for name in read]


def test_a_name_that_exists_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a b.png", "c\\d.png", 'e"f.png'):
        Path(name).touch()
        assert read_paths(name) == [name]


def test_the_conversation_goes_on_after_bad_files_and_odd_bytes(chat, tmp_path):
    picture(1).save(tmp_path / "a b.png")
    cut, dropped = CASES / "cut_download.webp", str(tmp_path / "a b.png").replace(" ", "\\ ")
    lines = [
        f"/image {cut}", "What is it?", "/image missing.png", "/video nothing.mp4",
        f"/image {dropped}", "And this?", "Hello",
    ]  # fmt: skip
    typed = "\n".join(lines).encode() + b"\nGr\xfc\xdfe \xff\n/save " + bytes(tmp_path / "chat.txt") + b"\n"
    code, _, err = shell(chat, typed)
    assert code == 0
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3 and "cut_download.webp" in errors[0] and "missing.png" in errors[1]
    said = (tmp_path / "chat.txt").read_text(encoding="utf-8")
    asked = [line for line in said.splitlines() if line.startswith("You: ")]
    assert asked == ["You: And this?", "You: Hello", "You: Gr\ufffd\ufffde \ufffd"]


def test_a_full_disk_is_one_line_and_a_closed_stderr_no_matter(chat, tmp_path):
    code, _, err = shell(f"{chat} --text Hello > /dev/full")
    assert code == 2 and err.count("\n") == 1 and "No space left" in err
    code, out, _ = shell(f"{chat} --text Hello 2>&-")
    assert code == 0 and out.strip()


def test_a_stderr_that_takes_nothing_is_no_matter(chat, tmp_path):
    out = tmp_path / "x.wav"
    assert shell(f"{chat} --say Hello --audio_out '{out}' 2> /dev/full")[0] == 0 and out.exists()
    assert shell(f"{chat} --image missing.png 2> /dev/full")[0] == 2


def test_no_home_and_one_that_cannot_be_written(chat, tmp_path):
    for home in (None, "/proc/nowhere"):
        code, out, err = shell(f"{chat} --text Hello --native off", HOME=home, XDG_CACHE_HOME=None)
        assert code == 0 and out.strip() and not err


def test_without_a_home_what_is_compiled_is_kept_until_the_next_boot(monkeypatch, tmp_path):
    from inference.native import library
    from inference.notice import Notice

    monkeypatch.setattr(library, "gettempdir", lambda: str(tmp_path))
    library.cache_below.cache_clear()
    with pytest.warns(Notice, match="home folder cannot be written"):
        kept = library.cache_below(None, "/proc/nowhere")
    assert kept.parent == tmp_path and library.cache_below(None, "/proc/nowhere") == kept
    library.cache_below.cache_clear()


def test_output_onto_a_link_writes_what_it_names(nano_omni_dir, tmp_path):
    target, link, lost = tmp_path / "real.wav", tmp_path / "link.wav", tmp_path / "new.wav"
    target.write_bytes(b"old")
    link.symlink_to(target)
    (tmp_path / "ahead.wav").symlink_to(lost)
    for name in (link, tmp_path / "ahead.wav"):
        say = ["--say", "Hi.", "--audio_out", str(name), "--ckpt_dir", str(nano_omni_dir), "--quiet"]
        assert infer_chat.main(say) == 0
    assert link.is_symlink() and target.read_bytes()[:4] == b"RIFF" == lost.read_bytes()[:4]
    assert sorted(os.listdir(tmp_path)) == ["ahead.wav", "link.wav", "new.wav", "real.wav"]


@pytest.mark.parametrize("name", [
    "train", "serve", "evaluate", "benchmark", "inference.codec", "data.preview",
    "export.chunks", "export.draft_table", "export.gguf", "export.vllm",
])  # fmt: skip
def test_wrong_flags_of_every_tool_are_one_line(name, capsys):
    with pytest.raises(SystemExit, match="2"):
        import_module(name).main(["--bogus"])
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and err.count("\n") == 1


def test_what_is_asked_about_is_not_written_over(nano_omni_dir, tmp_path, capsys):
    for name in ("a.wav", "a.txt"):
        shutil.copy(CASES / "hdr_0.wav", tmp_path / name)
    (tmp_path / "link.wav").symlink_to("a.wav")
    before = (tmp_path / "a.wav").read_bytes()
    for read, flag, name in (("a.wav", "--audio_out", "link.wav"), ("a.txt", "--transcript_out", "a.txt")):
        flags = ["--audio_in", str(tmp_path / read), flag, str(tmp_path / name)]
        assert infer_chat.main([*flags, "--ckpt_dir", str(nano_omni_dir)]) == 2
        assert "would be lost" in capsys.readouterr().err
        assert (tmp_path / read).read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--text", "a", "--device", "meta"], "meta"),
        (["--text", "a", "--device", "hpu"], "the device 'hpu'"),
        (["--text", "a", "--prefill_chunk", "9" * 30], "prefill_chunk"),
        (["--text", "a", "--max_new_tokens", "9" * 5000], "max_new_tokens"),
        (["--text", "a", "--num_beams", "100000"], "num_beams must be from 1 to 128"),
        (["--bogus"], "unknown argument --bogus"), (["--txt", "a"], "did you mean --text"),
        (["--text", "a", "--limit", "max_seconds=1e-9"], "max_seconds must be at least"),
        (["--text", "a", "--limit", "video_frames=2e9"], "video_frames must be at most"),
        (["--tex", "a"], "did you mean --text"),
        (["--text", "a", ""], "unknown argument ''"), ([" "], "unknown argument ''"),
    ],
)  # fmt: skip
def test_wrong_flags_are_one_line(flags, words, nano_omni_dir, capsys):
    try:
        code = infer_chat.main([*flags, "--ckpt_dir", str(nano_omni_dir)])
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    assert code == 2 and not out
    assert len(err.splitlines()) == 1 and words in err and len(err) < 300


def test_a_checkpoint_is_not_exported_over_itself(nano_omni_dir, capsys):
    before = (nano_omni_dir / "config.json").read_bytes()
    folder = str(nano_omni_dir)
    assert vllm.main(["--ckpt_dir", folder, "--out", f"{folder}/../{nano_omni_dir.name}"]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert (nano_omni_dir / "config.json").read_bytes() == before


@pytest.mark.parametrize("name", ["fuzz_omni_config_0_config.json", "fuzz_omni_config_2_config.json"])
def test_the_config_cases_are_one_line_when_loaded(name, shipped_dir, tmp_path):
    for path in shipped_dir.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "config.json").unlink()
    shutil.copy(CASES / name, tmp_path / "config.json")
    with pytest.raises(UserError) as told:
        Omni.from_pretrained(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [("codec", "codebook_dim", True), ("codec", "hidden_size", 1e30), ("vocoder", "n_fft", "640"),
     ("talker", "num_voices", -1), ("frontend", "voices", 3)],
)  # fmt: skip
def test_wrong_values_of_speaking_parts_are_told_when_loaded(part, field, value, nano_omni_dir, tmp_path):
    folder = shutil.copytree(nano_omni_dir, tmp_path / "c")
    config = json.loads((folder / "config.json").read_text())
    config["parts"][part][field] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=f"{part}|{field}"):
        Omni.from_pretrained(folder)


@pytest.mark.parametrize(("out", "count"), [("x.txt", "1"), ("none/x.png", "1"), ("x.png", "0")])
def test_a_sheet_of_pictures_that_cannot_be_written_is_one_line(out, count, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert preview.main(["--out", out, "--count", count, "--objects", "shapes", "--styles", "noto"]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not os.listdir(tmp_path)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x0a\xff\xff\xff\xff"])
def test_a_broken_tokenizer_is_told_when_loaded(content, nano_omni_dir, tmp_path):
    folder = shutil.copytree(nano_omni_dir, tmp_path / "c")
    (folder / "tokenizer.model").write_bytes(content)
    with pytest.raises(UserError, match="tokenizer"):
        Omni.from_pretrained(folder)


def test_the_manifest_cases(nano_omni_dir, tmp_path, capsys):
    picture(1).save(tmp_path / "a.png")
    for name, code, found in (("bad2.yaml", 1, [True, False, True, True]), ("exp.yaml", 0, [True])):
        text = (CASES / name).read_text()
        (tmp_path / name).write_text(f"ckpt_dir: {nano_omni_dir}\n{text}")
        assert manifest.main([str(tmp_path / name)]) == code
        lines = (tmp_path / name).with_suffix(".jsonl").read_text().splitlines()
        assert ["answer" in json.loads(line) for line in lines] == found
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_points_let_waiting_threads_sleep(name):
    """Set before anything that imports torch, and only where the user has not chosen."""
    text = (ROOT / name).read_text(encoding="utf-8")
    place = text.find("os.environ.setdefault(")
    assert '"OMP_WAIT_POLICY"' in text[place : place + 50]
    if name != "train.py":  # which has --threads
        assert 'os.environ.setdefault("OMP_NUM_THREADS", "1")' in text[place:].split("\n\n")[0]
    ours = "models|inference|training|evaluation|serving|benchmarks|torch"
    assert 0 <= place < re.search(rf"^(from|import) ({ours})\b", text, re.MULTILINE).start()


HIDE = """
import runpy, sys
hidden = sys.argv[1].split(",")

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
sys.argv = sys.argv[2:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
DEVELOPERS = "tqdm,tensorboard,scipy,pocketsphinx,pystoi,gguf,matplotlib,transformers,onnx,fastapi"


@pytest.mark.parametrize(
    "command",
    ["train thinker --preset nano --runs_dir {0}/runs --data_dir {0}/data", "benchmark cache",
     "data.speech.pronunciations --help", "export.draft_table --out {0}/draft.safetensors",
     "training.export --preset nano --runs_dir {0}/runs --out {0}/out", "serve", "evaluation.small_world"],
)
def test_a_package_that_only_development_needs_is_told_in_one_line(command, tmp_path):
    """With what `requirements.txt` brings, a command works or says in one line what it misses."""
    words = command.format(tmp_path).split()
    done = subprocess.run(
        [sys.executable, "-c", HIDE, DEVELOPERS, *words], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2) and (done.returncode == 0 or done.stderr.startswith("error: "))
