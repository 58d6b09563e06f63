"""Schedule, presets, overrides, and what `train.py` says when it is asked for the wrong thing."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import AdamW, Muon

import train
from models.errors import UserError
from training.config import (
    FREE,
    PRESETS,
    TrainConfig,
    apply_override,
    check_same,
    identity,
    load_preset,
)
from training.objective import COUNTED, EXTRA, STAGES, Paths, slice_bounds
from training.optimizer import SharedMuon, decay_start, lr_at, make_optimizers
from training.stage import finished

TRAINED = [stage for stage in STAGES if stage not in COUNTED]

ROOT = Path(__file__).resolve().parents[2]


def test_schedule_warms_up_holds_and_falls() -> None:
    config = TrainConfig(steps=100, batch_size=1, lr=1.0, warmup_steps=10)
    lrs = [lr_at(step, config) for step in range(100)]
    assert lrs[0] == pytest.approx(0.1)
    assert lrs[9:70] == [1.0] * 61
    assert decay_start(config) == 70
    assert all(a > b for a, b in pairwise(lrs[69:]))
    assert lrs[-1] == pytest.approx(0.05)


def test_muon_gets_hidden_matrices_only() -> None:
    model = nn.ModuleDict(
        {
            "embed": nn.Embedding(5, 4),
            "layers": nn.ModuleList([nn.Linear(4, 4), nn.LayerNorm(4)]),
            "frozen": nn.Linear(4, 4).requires_grad_(False),
            "head": nn.Linear(4, 5),
        }
    )
    config = TrainConfig(steps=1, batch_size=1, lr=1.0, optimizer="muon")
    adamw, muon = make_optimizers(model, config)
    assert isinstance(adamw, AdamW)
    assert isinstance(muon, Muon)
    assert [p is model["layers"][0].weight for g in muon.param_groups for p in g["params"]] == [True]
    decayed, plain = adamw.param_groups
    assert [p is model["head"].weight for p in decayed["params"]] == [True]
    assert plain["weight_decay"] == 0.0
    assert len(plain["params"]) == 5  # embedding, 2 biases, norm's weight and bias


@pytest.mark.parametrize("half", [False, True])
def test_shared_muon_goes_where_pytorchs_goes(half: bool, monkeypatch) -> None:
    monkeypatch.setattr("training.optimizer.multiplies_bfloat16", lambda device: half)
    moved = []
    for kind in (Muon, SharedMuon):
        torch.manual_seed(0)
        weights = [nn.Parameter(torch.zeros(shape)) for shape in ((32, 8), (8, 32))]
        muon = kind(weights, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
        for _ in range(3):
            for weight in weights:
                weight.grad = torch.randn(weight.shape)
            muon.step()
        moved.append(torch.cat([weight.detach().flatten() for weight in weights]))
    far = (moved[0] - moved[1]).norm() / moved[0].norm()
    assert far < (1e-6 if half else 0.02), "bfloat16 rounds to 0.4 %"
    assert half or far > 0


@pytest.mark.parametrize("world", [1, 2, 3, 7])
def test_slices_are_the_batch(world: int) -> None:
    items = [i for rank in range(world) for i in slice_bounds(5, rank, world)]
    assert items == list(range(5))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_whole(preset: str) -> None:
    sections = load_preset(preset)
    assert tuple(sections) == (*STAGES, *EXTRA)
    for stage in TRAINED:
        TrainConfig.from_dict(sections[stage]["train"])
    sizes = {sections[stage]["model"]["vocab_size"] for stage in ("tokenizer", "thinker")}
    assert len(sizes) == 1, "the Thinker has a row for each token"


def test_overrides() -> None:
    sections = load_preset("nano")
    apply_override(sections, TRAINED, "train.lr=1e-3")
    assert {sections[s]["train"]["lr"] for s in TRAINED} == {1e-3}
    apply_override(sections, ["thinker"], "vision.train.steps=7")
    assert sections["vision"]["train"]["steps"] == 7
    apply_override(sections, ["tokenizer", *TRAINED], "train.compile=true")
    assert "train" not in sections["tokenizer"] and sections["thinker"]["train"]["compile"] is True
    larger = load_preset("tiny")
    apply_override(larger, ["vision"], "data.styles=[noto, fxemoji]")
    assert larger["vision"]["data"]["styles"] == ["noto", "fxemoji"]
    for wrong in (
        *("lr=1", "train.lr", "model.hidden_sise=3", "thinker.train.speed=3", "train.lr=[e"),
        *("model.hidden_size=abc", "model.hidden_size=-1", "model.num_attention_heads=0"),
    ):
        with pytest.raises(UserError):
            apply_override(sections, ["thinker"], wrong)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lr": "fast"}, "train.lr must be a number"),
        ({"steps": 1.5}, "train.steps must be a whole number"),
        ({"steps": float("inf")}, "train.steps must be a whole number"),
        ({"optimizer": "sgd"}, "train.optimizer must be adamw or muon"),
        ({"speed": 1}, "unknown train setting speed"),
        ({"batch_size": 0}, "train.batch_size must be at least 1"),
        ({"compile": "false"}, "train.compile must be true or false"),
        ({"warmup_steps": -5}, "train.warmup_steps must be at least 0"),
        ({"weight_decay": -1.0}, "train.weight_decay must be at least 0"),
        ({"final_lr_ratio": 9.0}, "train.final_lr_ratio must be in 0..1"),
    ],
)
def test_wrong_train_settings(values: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TrainConfig.from_dict({"steps": 1, "batch_size": 1, "lr": 1.0} | values)


def test_a_longer_run_of_the_vocoder_is_another_run(tmp_path: Path) -> None:
    """Its discriminators join at a share of the steps."""
    asked = [
        identity("vocoder", "tiny", 0, {"train": {"steps": n, "batch_size": 1, "lr": 1.0}, "data": data})
        for data in ({"adversary_from": 0.3}, {}) for n in (10, 20)
    ]
    with pytest.raises(UserError, match="train.steps was 10, is 20"):
        check_same(asked[0], asked[1], tmp_path)
    check_same(asked[2], asked[3], tmp_path)


def asked(**changed) -> dict:
    """The identity of a run, with some settings changed by their full names."""
    section = {"model": {"hidden_size": 8}, "data": {"clips": 3}}
    section["train"] = {"steps": 10, "batch_size": 2, "lr": 1.0}
    who = {"stage": "audio", "preset": "nano", "seed": 0}
    for name, value in changed.items():
        part, _, key = name.rpartition(".")
        (section[part] if part else who)[key] = value
    return identity(section=section, **who)


@pytest.mark.parametrize(
    ("name", "value"),
    [("stage", "omni"), ("seed", 1), ("preset", "tiny"), ("model.hidden_size", 9), ("data.clips", 4),
     ("train.optimizer", "muon"), ("train.weight_decay", 0.2), ("train.batch_size", 3)],
)
def test_a_run_of_another_setting_is_not_continued(name: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"\({name} was [^;]+, is {value}\)"):
        check_same(asked(), asked(**{name: value}), tmp_path)


@pytest.mark.parametrize("name", sorted(FREE))
def test_what_does_not_change_the_learning_may_change(name: str, tmp_path: Path) -> None:
    value = {"parallel": "fsdp", "compile": True}.get(name, 20)
    changed = asked(**{f"train.{name}": value})
    assert changed != asked()
    check_same(asked(), changed, tmp_path)


def test_a_finished_adapter_is_not_the_stage_itself(tmp_path: Path) -> None:
    plain = identity("thinker", "nano", 0, {"train": {"steps": 1, "batch_size": 1, "lr": 1.0}})
    (tmp_path / "final").mkdir()
    for record in (plain, plain | {"lora": {"rank": 8}}):
        (tmp_path / "final" / "training.json").write_text(json.dumps(record))
        if "lora" not in record:
            assert finished(tmp_path, plain)
            continue
        with pytest.raises(UserError, match="lora.rank was 8, is absent"):
            finished(tmp_path, plain)


def test_missing_stage_names_its_command(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path, None, "nano")
    with pytest.raises(UserError, match="run `python train.py thinker --preset nano` first"):
        paths.need("thinker")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["thinkr"], "unknown stage 'thinkr'"),
        (["thinker", "--preset", "huge"], "unknown preset 'huge'"),
        (["thinker", "--set", "model.hiden=3"], "no stage here has a setting model.hiden"),
        (["thinker", "--real_dir", "/nowhere"], "--real_dir /nowhere: no such folder"),
        (["thinker", "--device", "cuda"], "no CUDA device here"),
        (["thinker", "--device", "gpu"], "--device gpu: "),
        (["thinker", "--steps", "0"], "train.steps must be at least 1"),
        (["thinker", "--seed", "-1"], "--seed between 0"),
    ],
)
def test_train_py_refuses(arguments: list[str], message: str, tmp_path: Path) -> None:
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    threads = torch.get_num_threads()
    with pytest.raises(UserError, match=message):
        train.main([*arguments, "--runs_dir", str(tmp_path), "--threads", str(threads)])


def test_train_py_says_one_line() -> None:
    command = [sys.executable, "train.py", "thinkr"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown stage 'thinkr'")
    assert done.stderr.count("\n") == 1
