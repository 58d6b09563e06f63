"""What the recipe took is read off the records beside the weights."""

import json

import pytest

from evaluation import recipe
from evaluation.results import read_results, save_section
from evaluation.setting import Setting
from evaluation.speedtables import recipe as table
from models.errors import UserError
from training.objective import COUNTED, STAGES


@pytest.fixture
def setting(tmp_path) -> Setting:
    folder = tmp_path / "training"
    folder.mkdir()
    for place, stage in enumerate(STAGES, 1):
        record = {"stage": stage, "seed": 0}
        if stage not in COUNTED:
            record |= {"steps": 100 * place, "seconds": 1800.0 * place, "sittings": [{}] * place}
        (folder / f"{stage}.json").write_text(json.dumps(record))
    return Setting(tmp_path, tmp_path, tmp_path, None)


def test_stages_tell_steps_hours_and_sittings_and_the_hours_add_up(setting, tmp_path):
    figures = recipe.measure(setting)
    assert figures["vision/steps"].value == 300 and figures["vision/sittings"].value == 3
    assert figures["vision/hours"].value == 1.5 and figures["all/hours"].value == pytest.approx(17.5)
    save_section(tmp_path / "results.json", "recipe", {}, figures)
    text = table(read_results(tmp_path / "results.json"))
    assert "| vision | 300 | 1.5 h | 3 |" in text and "| all |  | 17.5 h |  |" in text


def test_a_missing_record_is_named(setting):
    (setting.ckpt_dir / "training" / "omni.json").unlink()
    with pytest.raises(UserError, match="omni.json"):
        recipe.measure(setting)
