"""--init_from: a stage begins with a checkpoint's weights, whole or not at all."""

from pathlib import Path

import pytest
import torch

import train
from models.errors import UserError
from models.omni import OmniModel
from models.projector import Projector, ProjectorConfig
from training.distributed import World
from training.objective import Paths
from training.objectives.omni import OmniObjective, OmniTask
from training.stage import Request, run_stage


def joint(folder) -> OmniObjective:
    """The joint stage with other weights than those of the checkpoint; it has no data."""
    objective = object.__new__(OmniObjective)
    objective.model = OmniTask(OmniModel.from_pretrained(folder), ["audio."])
    for p in objective.model.parameters():
        p.data.zero_()
    return objective


def test_the_joint_stage_takes_every_weight_and_keeps_what_is_fixed(nano_omni_dir):
    objective, wanted = joint(nano_omni_dir), OmniModel.from_pretrained(nano_omni_dir)
    objective.init_from(nano_omni_dir)
    given = objective.model.omni.state_dict()
    assert all(torch.equal(given[name], value) for name, value in wanted.state_dict().items())
    assert not any(p.requires_grad for p in objective.model.omni.audio.parameters())
    assert all(p.requires_grad for p in objective.model.omni.thinker.parameters())


def test_a_checkpoint_with_other_parts_is_refused(nano_omni_dir, tmp_path):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    omni.vision_projector = Projector(ProjectorConfig(omni.vision.config.hidden_size, 64, inner_size=7))
    omni.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="vision_projector"):
        joint(nano_omni_dir).init_from(tmp_path)


def test_a_stage_that_cannot_says_so(tmp_path):
    paths = Paths(tmp_path, tmp_path, None, "nano")
    request = Request("codec", "nano", {}, paths, 0, 1, False, init_from=Path("x"))
    with pytest.raises(UserError, match="stage codec begins anew"):
        run_stage(request, World())
    with pytest.raises(UserError, match="one stage"):
        train.main(["all", "--preset", "nano", "--init_from", "x"])
