"""The comparison of attentions runs, is fair in bytes, and is taken up where it stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.compare_attention import contestants
from evaluation.speedtables import attention
from models.errors import UserError
from models.thinker import ThinkerConfig
from training.config import apply_override, load_preset

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("preset", ["nano", "tiny"])
def test_the_small_ones_have_half_the_cache(preset):
    model = load_preset(preset)["thinker"]["model"]
    sizes = {
        name: sum(ThinkerConfig(**model | changes).cache_widths)
        for name, changes in contestants(model["head_dim"]).items()
    }
    assert sizes["dba"] == sizes["narrow"] == sizes["standard"] / 2


def test_attention_is_a_setting_of_the_thinker_alone():
    sections = load_preset("nano")
    apply_override(sections, list(sections), "thinker.model.attention=dba")
    assert ThinkerConfig(**sections["thinker"]["model"]).decoupled
    with pytest.raises(UserError, match="no stage here"):
        apply_override(sections, list(sections), "audio.model.attention=dba")


def test_the_command_trains_all_and_shows_a_table(nano_omni_dir, tmp_path):
    corpus, final = tmp_path / "data" / "corpus", tmp_path / "runs" / "tokenizer" / "final"
    corpus.mkdir(parents=True)
    final.mkdir(parents=True)
    (final / "tokenizer.model").write_bytes((nano_omni_dir / "tokenizer.model").read_bytes())
    for split in ("train", "dev"):
        np.random.default_rng(0).integers(4, 500, 2000).astype(np.uint16).tofile(
            corpus / f"{split}.bin"
        )
    (corpus / "meta.json").write_text("{}")
    out = tmp_path / "results.json"
    out.write_text('{"text": {"figures": {}}}')
    command = [
        *(sys.executable, "-m", "evaluation.compare_attention", "--steps", "2", "--seeds", "1"),
        *("--threads", "1", "--data_dir", tmp_path / "data", "--runs_dir", tmp_path / "runs"),
        *("--out", out),
    ]

    def run() -> str:
        done = subprocess.run(
            [str(word) for word in command], cwd=ROOT, capture_output=True, text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "100%" in run()
    first = json.loads(out.read_text())
    assert "text" in first and first["attention"]["about"]["steps"] == 2
    assert "100%" not in run(), "finished runs are not trained again"
    assert json.loads(out.read_text()) == first
    table = attention(first)
    assert "| decoupled | 384 |" in table and "| standard | 768 |" in table
