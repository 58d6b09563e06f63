"""The finder stage: labels of looked-at pictures, and heads that learn to read the eyes."""

import pytest
import torch

from data.objects import COLORS
from data.scenes import build_scenes
from models.finder import Finder, middles
from training.config import load_preset
from training.objective import Paths
from training.objectives.finder import REACH, build, centres


@pytest.fixture(scope="module")
def objective(nano_omni_dir, tmp_path_factory):
    """Of a finished nano omni-model, 48 scenes and 8 signs to learn from, and 8 unseen scenes."""
    folder = tmp_path_factory.mktemp("finder")
    for split, count in (("train", 48), ("dev", 8)):
        build_scenes(folder / "data" / f"scenes_{split}", count, 1, split, "shapes", workers=1)
    build_scenes(folder / "data" / "signs_train", 8, 4, "train", "shapes", workers=1, layout="sign")
    (folder / "runs" / "omni").mkdir(parents=True)
    (folder / "runs" / "omni" / "final").symlink_to(nano_omni_dir)
    config = load_preset("nano")["finder"] | {"seed": 0}
    return build(config, Paths(folder / "data", folder / "runs", None, "nano"))


def test_slices_are_the_batch_and_labels_belong_to_their_pictures(objective):
    whole = objective.batch(3, 0, 1)
    parts = [objective.batch(3, rank, 2) for rank in range(2)]
    for key, values in whole.items():
        assert torch.equal(torch.cat([part[key] for part in parts]), values)
    assert len(objective.train["striped"]) == 56
    assert whole["tokens"].shape[:2] == (32, 49) and whole["background"].max() < len(COLORS)


def test_offsets_lead_to_the_nearest_centre(objective):
    for scene in objective.dev_scenes:
        offset, near = centres(scene)
        reached = 32 * (middles() + offset)
        things = torch.tensor([[thing.x, thing.y] for thing in scene.things])
        distance = (reached[:, None] - things).abs().amax(-1).min(1).values
        assert distance.max() < 1e-3 and 0 < near.sum() < 49
        away = (32 * offset).abs().amax(-1)
        assert ((away < REACH) == near.bool()).all()


def test_it_learns_what_it_looks_at_and_not_from_other_pictures(objective, tmp_path):
    """On its own lessons the loss falls far below what labels of other pictures leave."""
    def learn(shuffled: bool) -> float:
        torch.manual_seed(0)
        model = type(objective.model)(objective.model.finder.config)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
        batch = dict(objective.batch(0, 0, 1))
        if shuffled:
            batch["tokens"] = batch["tokens"].mean((0, 1), keepdim=True).expand_as(batch["tokens"])
        for _ in range(60):
            loss = model(batch)
            (loss.total / loss.weight).backward()
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.total.detach() / loss.weight)

    assert learn(shuffled=False) < 0.7 * learn(shuffled=True)
    figures = objective.validate()
    assert figures.keys() == {"things", "background"}
    objective.save(tmp_path)
    assert Finder.from_pretrained(tmp_path).config == objective.model.finder.config
