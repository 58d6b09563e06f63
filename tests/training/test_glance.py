"""The glance stage: batches of photographs and drawings, and what is left out without photographs."""

import pytest
import torch
from models.glance import Glance
from PIL import Image
from training.objectives.glance import build, load, prepare

from data.scenes.build import build_scenes
from models.errors import UserError
from models.omni import OmniModel
from tests.fixtures.photos import write_photos
from training.config import load_preset
from training.objective import Paths


@pytest.fixture(scope="module")
def paths(nano_text_dir, tmp_path_factory) -> Paths:
    """120 photographs of each of two sets, eight scenes, and a Thinker."""
    folder = tmp_path_factory.mktemp("glance")
    sets = {
        ("cifar10", "cat"): lambda i: (2 * i, 200, 40),
        ("clothing_cc0", "hat"): lambda i: (200, 2 * i, 90),
    }
    for (corpus, name), color in sets.items():
        images = [Image.new("RGB", (32, 32), color(i)) for i in range(120)]
        write_photos(folder / "real", corpus, images, [0] * 120, [name, "dog"])
    for split in ("train", "dev"):
        build_scenes(folder / "data" / f"scenes_{split}", 8, 1, split, "shapes", workers=1)
    (folder / "runs" / "thinker").mkdir(parents=True)
    (folder / "runs" / "thinker" / "final").symlink_to(nano_text_dir)
    return Paths(folder / "data", folder / "runs", folder / "real", "nano")


def test_slices_are_the_batch_and_drawings_have_no_name(paths, tmp_path):
    config = load_preset("nano")["glance"] | {"seed": 0}
    prepare(config, paths)
    objective = build(config, paths)
    whole = objective.batch(3, 0, 1)
    parts = [objective.batch(3, rank, 2) for rank in range(2)]
    for key in ("small", "label", "pasted", "own"):
        assert torch.equal(torch.cat([part[key] for part in parts]), whole[key])
    assert whole["small"].shape == (32, 3, 32, 32)
    names = ["", *objective.model.glance.config.names]
    drawn = [kind == "drawn" for kind, _ in objective.items(3, range(32))]
    assert [names[label] == "" for label in whole["label"]] == drawn and 0 < sum(drawn) < 16
    assert (whole["own"][torch.tensor(drawn)] == 1).all() and (whole["own"] < 1).any()
    figures = objective.validate()
    assert figures.keys() == {"cifar10", "clothing_cc0", "drawn"}
    objective.save(tmp_path)
    assert Glance.from_pretrained(tmp_path).words.abs().sum() > 0  # the Thinker's own


def test_a_checkpoints_glance_is_gone_on_from(paths, tmp_path, nano_omni_dir):
    config = load_preset("nano")["glance"] | {"seed": 0}
    prepare(config, paths)
    first, second = build(config, paths), build(config, paths)
    omni = OmniModel.from_pretrained(nano_omni_dir)
    small = torch.from_numpy(first.train["cifar10"][0][:40])
    first.model.train()
    first.model.glance.looks[0](small)  # norms are no longer as they began
    omni.glance = first.model.eval().glance.fold()
    omni.save_pretrained(tmp_path, dtype=torch.float32)
    wanted = first.model.glance.looks[0](small)
    assert not torch.allclose(second.model.eval().glance.looks[0](small), wanted, atol=1e-3)
    second.init_from(tmp_path)
    torch.testing.assert_close(second.model.eval().glance.looks[0](small), wanted, rtol=1e-3, atol=1e-3)
    assert not second.model.glance.words.requires_grad
    omni.glance.config.names[0] = "unicorn"
    omni.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="other names"):
        second.init_from(tmp_path)


def test_every_photograph_comes_once_an_epoch(paths):
    config = load_preset("nano")["glance"] | {"seed": 0}
    prepare(config, paths)
    objective = build(config, paths)
    count = len(objective.train["cifar10"][1])
    steps = range(60)
    seen = [i for step in steps for kind, i in objective.items(step, range(32)) if kind == "cifar10"]
    assert len(seen) > 2 * count
    for start in range(0, len(seen) - count + 1, count):
        assert sorted(seen[start : start + count]) == list(range(count))


def test_no_photographs_is_one_line(tmp_path):
    config = load_preset("nano")["glance"] | {"seed": 0}
    with pytest.raises(UserError, match="--real_dir"):
        prepare(config, Paths(tmp_path, tmp_path, None, "nano"))


def test_photographs_of_names_that_are_not_learnt_are_left_out(paths):
    prepare(load_preset("nano")["glance"] | {"seed": 0}, paths)
    pictures, names = load(paths.data, "dev", 2, ["cat"])
    assert names == ["cat"] and "clothing_cc0" not in pictures
    assert (pictures["cifar10"][1] == 1).all() and (pictures["drawn"][1] == 0).all()
