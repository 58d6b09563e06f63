"""Manifests: every run answered once, also after an interruption; mistakes named in one line."""

import datetime
import json
import os
from pathlib import Path

import pytest
import soundfile
import yaml

from inference import manifest
from inference.omni import Omni
from tests.inference.conftest import picture, speech
from tests.inference.test_media import write_video

# A page of aliases that stands for 9**9 words.
LAUGHS = "[&a [x, x, x, x, x, x, x, x, x], " + ", ".join(
    f"&{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
) + "]"


@pytest.fixture
def runs(tmp_path, nano_omni_dir):
    picture(1).save(tmp_path / "a.png")
    content = {
        "ckpt_dir": str(nano_omni_dir),
        "defaults": {"max_new_tokens": 6},
        "runs": [
            {"text": "hello"},
            {"text": "it?", "image": "a.png"},
            {"text": "hello"},
            {"text": "hello", "temperature": 1.0, "seed": 3},
        ],
    }
    path = tmp_path / "runs.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_answers_equal_the_api_and_an_interrupted_run_goes_on(runs, omni, monkeypatch):
    out = runs.with_suffix(".jsonl")
    assert manifest.main([str(runs)]) == 0
    whole = lines(out)
    image = str(runs.parent / "a.png")
    assert [line["answer"] for line in whole] == [
        omni.chat("hello", max_new_tokens=6),
        omni.chat("it?", image=image, max_new_tokens=6),
        omni.chat("hello", max_new_tokens=6),
        omni.chat("hello", max_new_tokens=6, temperature=1.0, seed=3),
    ]
    text = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(text[:2]) + text[2][:20], encoding="utf-8")  # the plug was pulled
    asked, answer = [], manifest.answer
    monkeypatch.setattr(
        manifest, "answer", lambda omni, run, folder: asked.append(run) or answer(omni, run, folder)
    )
    assert manifest.main([str(runs)]) == 0
    assert len(asked) == 2
    assert lines(out) == whole
    assert manifest.main([str(runs)]) == 0
    assert len(asked) == 2


@pytest.mark.parametrize("content", ["runs: [{text: hi}]", "a note", '{"error": "of mine"}\n', '{"key'])
def test_a_file_that_holds_something_else_stays_as_it_is(content, runs, capsys):
    out = runs.with_suffix(".mine")
    out.write_text(content)
    if content != '{"key':  # a first line that was cut off is ours
        assert manifest.main([str(runs), "--out", str(out)]) == 2
        assert "holds no answers of a manifest" in capsys.readouterr().err
        assert out.read_text() == content
    else:
        assert manifest.finished(out) == set() and not out.read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("runs: [", "cannot read"),
        ("- a", "list called runs"),
        ("runs: [{txt: hi}]", "unknown txt"),
        ("runs: [3]", "run 1"),
        ("run: []\nruns: []", "unknown run"),
        ("runs: []\ntargets: 3", "targets must be a list"),
        ("runs: [{text: a}]\nckpt_dir: ~nobody_here/x", "does not exist"),
        ("runs: [{text: a, image: {1: b, c: d}}]", "a run is"),
        ("runs: [{text: a, image: {2020-01-01: b}}]", "a run is"),
        ("runs: [&a {text: b, image: *a}]", "a run is"),
        ("runs: [{generate: [prompt]}]", "not 'generate' with ['prompt']"),
        ("defaults: {mode: train}\nruns: [{text: a}]", "not 'train' with {}"),
        (f"runs: [{{text: a, top_k: {LAUGHS}}}]", "words and more"),
        (f"defaults: {{top_k: {LAUGHS}}}\nruns: [{{text: a}}]", "words and more"),
        ("runs: [{text: a, id: true}]", "id must be"),
    ],
)
def test_mistakes_are_one_line_and_code_2(tmp_path, capsys, text, words):
    path = tmp_path / "runs.yaml"
    path.write_text(text)
    assert manifest.main([str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert len(error.splitlines()) == 1
    assert words in error


@pytest.mark.parametrize("out", ["/dev/full", "pipe", "/no/such/folder/x.jsonl"])
def test_answers_go_to_files_only(out, runs, capsys):
    os.mkfifo(runs.parent / "pipe")
    assert manifest.main([str(runs), "--out", str(runs.parent / out)]) == 2
    assert out in capsys.readouterr().err


@pytest.mark.parametrize("path", [".", "/", "/dev/zero", "pipe", "x" * 300, "a\0b.yaml"])
def test_what_is_no_file_is_no_manifest(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert manifest.main([path]) == 2
    err = capsys.readouterr().err
    assert "manifest" in err and err.count("\n") == 1 and len(err) < 600


def test_a_manifest_in_utf_16_and_settings_of_all_runs_in_a_block(runs, omni):
    content = yaml.safe_load(runs.read_text())
    content["defaults"] = {"mode": "generate", "generate": {"max_new_tokens": 3}}
    content["runs"] = [{"id": 7, "prompt": "hello"}]
    runs.write_text(yaml.safe_dump(content), encoding="utf-16")
    assert manifest.main([str(runs)]) == 0
    (line,) = lines(runs.with_suffix(".jsonl"))
    assert line["answer"] == omni.chat("hello", max_new_tokens=3) and line["run"]["id"] == 7


def test_a_target_may_have_any_name():
    for name, written in (
        (16**6000, "a number of very many digits"), ([16**6000], "a number of very many digits"),
        (5, "5"), (datetime.date(2020, 1, 1), "2020-01-01"), ("ten", "ten"),
    ):  # fmt: skip
        (run,) = manifest.of_targets([{"name": name, "runs": [{"text": "a", "id": 1}]}], Path("x.yaml"))
        assert run["id"] == f"{written}/1"


@pytest.mark.parametrize("setting", [
    {"suppress_tokens": [10**8]}, {"suppress_tokens": [-1]}, {"suppress_tokens": [10**22]},
    {"eos_token_id": 10**8, "repetition_penalty": 1.2},
])
def test_ids_that_are_no_tokens_are_one_runs_error(setting, runs, capsys):
    content = yaml.safe_load(runs.read_text())
    content["runs"].insert(0, {"text": "hello", **setting})
    runs.write_text(yaml.safe_dump(content))
    assert manifest.main([str(runs)]) == 1
    found = lines(runs.with_suffix(".jsonl"))
    assert ["error" in line for line in found] == [True, False, False, False, False]
    assert "is no token id of this model" in found[0]["error"]


def test_all_that_a_manifest_says_counts_from_its_folder(tmp_path, nano_omni_dir, monkeypatch):
    folder, elsewhere = tmp_path / "runs", tmp_path / "quite" / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir(parents=True)
    (tmp_path / "nano").symlink_to(nano_omni_dir)
    for seed in (1, 2):
        picture(seed).save(folder / f"{seed}.png")
    soundfile.write(folder / "a.wav", speech(), 16_000)
    write_video(folder / "v.mp4", [20, 200])
    media = {"image": ["1.png", "2.png"], "audio": "a.wav", "video": "v.mp4"}
    kinds = [{"text": "what?", kind: paths} for kind, paths in media.items()]
    content = {
        "ckpt_dir": "../nano", "dtype": "bf16", "device": "cpu",
        "defaults": {"max_new_tokens": 4, "vad": False},
        "runs": [*kinds, {"text": "hello", "max_new_tokens": 9}],
    }  # fmt: skip
    (folder / "runs.yaml").write_text(yaml.safe_dump(content))
    loaded, load = [], Omni.from_pretrained
    monkeypatch.setattr(Omni, "from_pretrained", lambda **asked: loaded.append(asked) or load(**asked))
    monkeypatch.chdir(elsewhere)
    assert manifest.main([str(folder / "runs.yaml")]) == 0
    assert [asked | {"folder": asked["folder"].resolve()} for asked in loaded] == [
        {"folder": nano_omni_dir.resolve(), "dtype": "bf16", "device": "cpu"}
    ]
    omni = load(nano_omni_dir, dtype="bf16")
    pictures = [str(folder / name) for name in media["image"]]
    settings = {"max_new_tokens": 4, "vad": False}
    assert [line["answer"] for line in lines(folder / "runs.jsonl")] == [
        omni.chat("what?", image=pictures, **settings),
        omni.chat("what?", audio=str(folder / "a.wav"), **settings),
        omni.chat("what?", video=str(folder / "v.mp4"), **settings),
        omni.chat("hello", max_new_tokens=9, vad=False),
    ]


def test_a_name_that_nobody_set_is_no_manifest(capsys):
    with pytest.raises(SystemExit, match="2"):
        manifest.main([""])
    assert capsys.readouterr().err == "error: argument manifest: its value is empty\n"


def test_the_shipped_example_is_a_manifest():
    _, runs = manifest.read_manifest(Path(__file__).parents[2] / "examples" / "runs.yaml")
    assert len(runs) == 5


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"text": 3}, "text must be"), ({"text": "a", "temperature": "hot"}, "temperature"),
        ({"text": "a", "max_new_tokens": 2.5}, "max_new_tokens"), ({"text": "a", "seed": -1}, "seed"),
        ({"text": "a", "max_new_tokens": 10**30}, "max_new_tokens"), ({}, "nothing is asked"),
        ({"text": "a", "image": {"b": 1}}, "image"), ({"text": "a", "think": "yes"}, "think"),
        ({"text": "a", "stop_strings": 5}, "stop_strings"), (None, "a run is"),
        ({"text": "a", "top_k": [1]}, "top_k"), ({"text": "a", "colour": 1}, "unknown colour"),
    ],
)  # fmt: skip
def test_odd_runs_are_one_line(run, words, tmp_path, capsys):
    path = tmp_path / "runs.yaml"
    path.write_text(yaml.safe_dump({"runs": [run]}))
    assert manifest.main([str(path)]) == 2
    error = capsys.readouterr().err
    assert words in error and len(error.splitlines()) == 1


def test_numbers_as_yaml_misreads_them_are_numbers():
    assert manifest.checked({"text": "a", "min_p": "1e-2"})["min_p"] == 0.01


def test_a_bad_run_is_recorded_and_the_rest_goes_on(runs, capsys):
    content = yaml.safe_load(runs.read_text())
    content["runs"].insert(1, {"text": "it?", "image": "missing.png"})
    runs.write_text(yaml.safe_dump(content))
    assert manifest.main([str(runs)]) == 1
    found = lines(runs.with_suffix(".jsonl"))
    assert ["error" in line for line in found] == [False, True, False, False, False]
    assert "missing.png" in found[1]["error"]
    picture(3).save(runs.parent / "missing.png")
    assert manifest.main([str(runs)]) == 0  # the failed run alone is asked again
    assert sum("answer" in line for line in lines(runs.with_suffix(".jsonl"))) == 5


def test_experiments_of_targets_are_runs_with_names(runs, omni):
    block = {"max_new_tokens": 6, "temperature": 0.8, "seed": 2}
    content = {
        "ckpt_dir": str(omni.folder),
        "targets": [{"type": "experiment", "name": "test", "runs": [
            {"id": "a", "mode": "generate", "generate": {"prompt": "hello", **block}},
            {"id": "b", "mode": "train", "generate": {"prompt": "hello"}},
        ]}],
    }
    runs.write_text(yaml.safe_dump(content))
    assert manifest.main([str(runs)]) == 1
    good, bad = lines(runs.with_suffix(".jsonl"))
    assert good["answer"] == omni.chat("hello", **block) and good["run"]["id"] == "test/a"
    assert "mode must be generate" in bad["error"] and "train" in bad["error"]


@pytest.mark.parametrize("error, words", [
    (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out of memory"),
    (PermissionError(13, "Permission denied", "/some/photo.png"), "photo.png"),
])
def test_one_runs_machine_trouble_leaves_the_others(error, words, runs, monkeypatch):
    answer = manifest.answer

    def troubled(omni, run, folder):
        if "image" in run:
            raise error
        return answer(omni, run, folder)

    monkeypatch.setattr(manifest, "answer", troubled)
    assert manifest.main([str(runs)]) == 1
    found = lines(runs.with_suffix(".jsonl"))
    assert ["error" in line for line in found] == [False, True, False, False]
    assert words in found[1]["error"]
