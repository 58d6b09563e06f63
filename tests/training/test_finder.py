"""The finder stage: labels of looked-at pictures, and heads that learn to read the eyes."""

import pytest
import torch

from data.scenes.build import build_scenes
from data.scenes.objects import COLORS, SHAPE_KINDS
from data.scenes.render import PLANES
from models.finder import Finder, middles
from training.config import load_preset
from training.objective import Paths
from training.objectives.finder import LENT, SORTS, build, centres, effects, lend


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
    assert len(objective.train["background"]) == 56
    assert whole["tokens"].shape[:2] == (32, 49) and whole["background"].max() < len(COLORS)


def test_offsets_lead_to_the_nearest_centre(objective):
    for scene in objective.dev_scenes:
        reached = 32 * (middles() + centres(scene))
        things = torch.tensor([[thing.x, thing.y] for thing in scene.things])
        away = (things[None] - 32 * middles()[:, None]).abs().amax(-1)  # (49, n)
        chosen = (reached[:, None] - things).abs().amax(-1).argmin(1)
        assert (reached - things[chosen]).abs().max() < 1e-3
        assert torch.equal(away.gather(1, chosen[:, None])[:, 0], away.min(1).values)


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


def test_what_shapes_and_colors_add_is_told_apart_and_lent():
    """Tokens that are sums of a name's and a colour's share, of which some pairs never occur."""
    torch.manual_seed(0)
    shares = [torch.randn(n, 8) for _, n in SORTS]
    names = torch.randint(0, SORTS[0][1], (400, 49))
    colors = torch.randint(0, SORTS[1][1], (400, 49))
    colors = torch.where(colors == names % SORTS[1][1], (colors + 1) % SORTS[1][1], colors)
    cells = torch.zeros(400, len(PLANES), 49, dtype=torch.long)
    cells[:, PLANES.index("centre")] = 1
    cells[:, PLANES.index("object")], cells[:, PLANES.index("color")] = names + 1, colors + 1
    cells = cells.unflatten(2, (7, 7))
    tokens = shares[0][names] + shares[1][colors] + 5.0  # (400, 49, 8)
    added = effects(tokens, cells)
    draws = torch.rand(3, 400, 49)
    lent = lend({"tokens": tokens, "cells": cells}, draws, *added)
    fresh = [lent["cells"].flatten(2)[:, PLANES.index(plane)] - 1 for plane, _ in SORTS]
    torch.testing.assert_close(
        lent["tokens"], shares[0][fresh[0]] + shares[1][fresh[1]] + 5.0, rtol=0, atol=0.02
    )
    changed = (fresh[0] != names) | (fresh[1] != colors)
    assert not changed[draws[0] >= LENT].any() and 0.5 < changed.float().mean() < LENT
    assert (cells.flatten(2)[:, PLANES.index("object")] == names + 1).all()  # the batch is as it was


def test_signs_and_empty_cells_are_left_alone(objective):
    batch = objective.batch(0, 0, 1)
    before, after = objective.train, batch["cells"].flatten(2)
    places = [int((before["tokens"] == t.half()[None]).flatten(1).sum(1).argmax()) for t in batch["tokens"]]
    plain = before["cells"][places].flatten(2)
    shapes = (plain[:, PLANES.index("object")] <= len(SHAPE_KINDS)) & (plain[:, PLANES.index("centre")] > 0)
    moved = (before["tokens"][places].float() != batch["tokens"]).any(-1)  # (32, 49)
    assert moved.any() and not moved[~shapes].any()
    others = [i for i, name in enumerate(PLANES) if name not in ("object", "color")]
    assert torch.equal(plain[:, others], after[:, others])
