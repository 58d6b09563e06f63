"""A stage from its name to its finished folder: trained once, longer, anew, and from other weights."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from models.checkpoint import read_json
from models.errors import UserError
from tests.training.toy import ToyObjective
from training import stage
from training.distributed import World
from training.log import read_log
from training.objective import Paths


class Toy(ToyObjective):
    """A toy that can begin with given weights."""

    def init_from(self, folder: Path) -> None:
        self.model.load_state_dict(load_file(folder / "model.safetensors"))


@pytest.fixture
def built(monkeypatch) -> list[str]:
    """What was done of the toy's stage, in order."""
    done: list[str] = []

    class Built(Toy):
        def __init__(self, config: dict, paths: Paths):
            super().__init__(6)
            done.append("build")

    module = SimpleNamespace(
        prepare=lambda config, paths: done.append(f"prepare {config['seed']} {config['workers']}"),
        build=Built,
    )
    monkeypatch.setattr(stage, "load_stage", lambda name: module)
    return done


def run(folder: Path, steps: int = 4, seed: int = 0, restart: bool = False, init_from: Path | None = None,
        **train: object) -> dict[str, torch.Tensor]:  # fmt: skip
    """Run the stage; its weights."""
    settings = {"steps": steps, "batch_size": 6, "lr": 0.01, "log_every": 2, "validate_every": 50} | train
    paths = Paths(folder / "data", folder / "runs", None, "nano")
    request = stage.Request("toy", "nano", {"train": settings}, paths, seed, 3, restart, init_from)
    stage.run_stage(request, World())
    return load_file(paths.final("toy") / "model.safetensors")


def steps(folder: Path) -> list[int]:
    return [e["step"] for e in read_log(folder / "runs" / "toy" / "log.jsonl") if e["kind"] == "train"]


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_a_stage_is_trained_once_goes_on_when_asked_for_more_and_begins_anew(built, tmp_path, capsys):
    first = run(tmp_path)
    assert built == ["prepare 0 3", "build"] and steps(tmp_path) == [2, 4]
    capsys.readouterr()
    assert same(run(tmp_path), first) and same(run(tmp_path, steps=3), first)
    assert len(built) == 2 and capsys.readouterr().out.count("toy: finished already") == 2
    longer = run(tmp_path, steps=8)
    assert len(built) == 4 and not same(longer, first) and steps(tmp_path) == [2, 4, 6, 8]
    assert read_json(tmp_path / "runs" / "toy" / "final" / "training.json")["steps"] == 8
    assert same(run(tmp_path, restart=True), first)
    assert len(built) == 6 and steps(tmp_path) == [2, 4]


def test_first_weights_follow_the_seed(built, tmp_path):
    torch.manual_seed(5)
    one = run(tmp_path / "one", seed=1, lr=1e-12)
    torch.manual_seed(6)
    two = run(tmp_path / "two", seed=1, lr=1e-12)
    assert same(one, two)
    assert not same(one, run(tmp_path / "three", seed=2, lr=1e-12))


def test_a_stage_begins_with_the_weights_it_is_given(built, tmp_path):
    given = run(tmp_path / "given", seed=1)
    took = run(tmp_path / "took", seed=2, lr=1e-9, init_from=tmp_path / "given" / "runs" / "toy" / "final")
    assert all(torch.allclose(took[name], given[name], atol=1e-6) for name in given if name != "seen")


def test_a_run_that_began_with_other_weights_is_another_run(built, tmp_path):
    given = tmp_path / "given" / "runs" / "toy" / "final"
    run(tmp_path / "given", seed=1)
    run(tmp_path / "anew")
    with pytest.raises(UserError, match=f"init_from was absent, is {given}"):
        run(tmp_path / "anew", init_from=given)
    took = run(tmp_path / "took", init_from=given)
    assert same(run(tmp_path / "took", init_from=given), took)
    with pytest.raises(UserError, match=f"init_from was {given}, is absent"):
        run(tmp_path / "took")


def test_beginning_anew_forgets_all_that_a_run_leaves_and_nothing_else(tmp_path):
    for name in ("final", "final.new", "final.old", "tensorboard", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    for name in ("state.safetensors", "state_stable.safetensors", "log.jsonl", "loss.png", "notes.txt"):
        (tmp_path / name).touch()
    stage.forget(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "notes.txt"]


@pytest.mark.parametrize(("name", "missing"), [("omni", "thinker"), ("talker", "codec")])
def test_a_missing_stage_is_told_before_data_are_made(built, name, missing, tmp_path):
    paths = Paths(tmp_path / "data", tmp_path / "runs", None, "nano")
    section = {"train": {"steps": 1, "batch_size": 6, "lr": 0.1}}
    request = stage.Request(name, "nano", section, paths, 0, 1, False)
    with pytest.raises(UserError, match=f"{missing}/final is missing"):
        stage.run_stage(request, World())
    assert not built


def test_a_restart_that_cannot_begin_loses_nothing(built, tmp_path):
    first = run(tmp_path)
    kept = sorted(path.name for path in (tmp_path / "runs" / "toy").iterdir())
    with pytest.raises((UserError, FileNotFoundError)):
        run(tmp_path, restart=True, init_from=tmp_path / "nothing")
    assert sorted(path.name for path in (tmp_path / "runs" / "toy").iterdir()) == kept
    assert same(run(tmp_path), first)


def test_a_damaged_record_is_told_and_trained_over(built, tmp_path):
    first, record = run(tmp_path), tmp_path / "runs" / "toy" / "final" / "training.json"
    record.write_text('{"stage": "to')
    with pytest.raises(UserError, match="--restart trains the stage anew"):
        run(tmp_path)
    assert same(run(tmp_path, restart=True), first)
