"""The naming stage: only the names' vectors learn, and what they learn is read."""

import pytest
import torch
from models.glance import Glance, GlanceConfig
from training.objectives.naming import build

from models.checkpoint import read_json
from models.omni import OmniModel
from training.config import load_preset
from training.objective import Paths


@pytest.fixture
def paths(nano_omni_dir, tmp_path) -> Paths:
    """A finished nano omni stage whose glance knows three things."""
    paths = Paths(tmp_path / "data", tmp_path / "runs", None, "nano")
    omni = OmniModel.from_pretrained(nano_omni_dir)
    omni.glance = Glance(GlanceConfig([4, 8], hidden_size=64, names=["cat", "fox", "palm tree"]))
    torch.nn.init.normal_(omni.glance.words)
    omni.save_pretrained(paths.final("omni"))
    (paths.final("omni") / "tokenizer.model").write_bytes(
        (nano_omni_dir / "tokenizer.model").read_bytes()
    )
    assert "glance" in read_json(paths.final("omni") / "config.json")["parts"]
    return paths


def test_only_the_names_learn(paths, tmp_path):
    config = load_preset("nano")["naming"] | {"seed": 0}
    objective = build(config, paths)
    model = objective.model
    learnt = [name for name, p in model.named_parameters() if p.requires_grad]
    assert learnt == ["omni.glance.words"]
    before = {name: p.clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.AdamW([model.omni.glance.words], lr=0.3, weight_decay=0.0)
    losses = []
    for _ in range(12):
        loss = model(objective.batch(0, 0, 1))
        (loss.total / loss.weight).backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.total.detach() / loss.weight))
    assert losses[-1] < 0.9 * losses[0]
    same = [name for name, p in model.named_parameters() if torch.equal(p, before[name])]
    assert set(before) - set(same) == {"omni.glance.words"}
    objective.save(tmp_path / "out")
    kept = Glance.from_pretrained(tmp_path / "out").words
    torch.testing.assert_close(kept, model.omni.glance.words.bfloat16().float())


def test_slices_are_the_batch_and_names_take_turns(paths):
    objective = build(load_preset("nano")["naming"] | {"seed": 0}, paths)
    whole = objective.batch(4, 0, 1)["name"]
    parts = torch.cat([objective.batch(4, rank, 2)["name"] for rank in range(2)])
    assert torch.equal(parts, whole) and set(whole.tolist()) == {0, 1, 2}
    assert set(objective.validate()) == {"names"}
