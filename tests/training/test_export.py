"""Export from a run folder made of random parts."""

import json
import shutil
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from inference import Omni
from inference.speech import Speaker
from models.checkpoint import read_json
from models.codec import MelCodec
from models.errors import UserError
from models.frontend import Frontend
from models.ngram_lm import FILE, NgramLM
from models.omni import OmniModel
from models.talker import Talker
from models.tokenizer import Tokenizer
from models.vocoder import Vocoder
from training import export as exporting
from training.export import export
from training.model_card import real_table
from training.ngram_lm import count_ngrams
from training.objective import STAGES, Paths
from training.records import QUIZ


@pytest.fixture
def runs(nano_omni_dir, nano_text_dir, tmp_path) -> Paths:
    """What finished stages leave, with the parts of the random nano checkpoint."""
    paths = Paths(data=tmp_path / "data", runs=tmp_path / "runs", real=None, preset="nano")
    for stage in STAGES:
        paths.final(stage).mkdir(parents=True)
        record = {"stage": stage, "seed": 0, "steps": 7, "seconds": 12.5, "device": "cpu"}
        record["command"] = f"train.py {stage} --preset nano"
        (paths.final(stage) / "training.json").write_text(json.dumps(record))
    for name in ("config.json", "model.safetensors", "tokenizer.model"):
        shutil.copy(nano_text_dir / name, paths.final("thinker") / name)
    shutil.copytree(nano_omni_dir, paths.final("omni"), dirs_exist_ok=True)
    for stage, kind in (("codec", MelCodec), ("vocoder", Vocoder), ("talker", Talker)):
        kind.from_pretrained(nano_omni_dir, stage).save_pretrained(paths.final(stage))
    frontend = Frontend.from_pretrained(nano_omni_dir, "frontend")
    frontend.save_pretrained(paths.final("talker") / "frontend")
    count_ngrams(["the fox", "a fox"] * 3, 10, 10, 10).save(paths.final("audio") / FILE)
    return paths


def test_both_checkpoints_work_and_say_how_they_were_made(runs, tmp_path):
    thinker, omni = export(runs, "nano", tmp_path / "out")
    assert (thinker.name, omni.name) == ("thinker_nano", "omni_sft_nano")
    for folder in (thinker, omni):
        assert isinstance(Omni.from_pretrained(folder).chat("Hi", max_new_tokens=3), str)
        card = (folder / "README.md").read_text()
        assert card.startswith("---\nlicense: apache-2.0\n")
        assert "python train.py thinker --preset nano" in card and "<!-- results:" in card
        assert (folder / "training" / "thinker.json").is_file()
        theirs = AutoTokenizer.from_pretrained(folder)  # as `transformers` reads it
        ours = Tokenizer(folder / "tokenizer.model").encode("Hello there!")
        assert theirs("Hello there!")["input_ids"] == ours
        assert theirs.chat_template
    assert "fox" in NgramLM.load(omni / FILE).words
    assert OmniModel.from_pretrained(omni).ngram is not None
    assert Speaker.from_pretrained(omni).speak("Hi there.")[1] == 16000
    settings = read_json(thinker / "generation_config.json")
    assert settings["eos_token_id"] == 2
    special = Tokenizer(thinker / "tokenizer.model").special
    assert settings["suppress_tokens"] == sorted(special - {2}) != []
    assert len(list((omni / "training").iterdir())) == len(STAGES)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["omni_sft_nano", "thinker_nano"]


def test_each_card_lists_the_real_data_that_its_model_learnt_from(runs, tmp_path):
    for folder, corpora in (("photos_train", ["cifar10", "clothing_cc0"]), ("hearing_real_train", ["fsdd"])):
        (runs.data / folder).mkdir(parents=True)
        lines = [json.dumps({"record": {"corpus": corpus}}) for corpus in corpora]
        (runs.data / folder / "shard-00000.jsonl").write_text("\n".join(lines))
    (runs.data / "corpus").mkdir()
    counts = {"tokens": 9, "conversations": 4, "told": 3, "stories": 2}
    (runs.data / "corpus" / "meta.json").write_text(json.dumps({"splits": {"train": counts}}))
    (runs.data / "lexicon.jsonl").touch()
    (runs.data / QUIZ).write_text(json.dumps({"train": ["Who won?"], "dev": [], "test": []}))
    text, omni = ((folder / "README.md").read_text() for folder in export(runs, "nano", tmp_path / "out"))
    for name in ("stories", "cifar10", "clothing_cc0", "fsdd", "cmudict", "opentriviaqa"):
        licence = real_table([name]).splitlines()[-1]
        assert licence in omni and (licence in text) == (name == "stories")


def test_missing_stage_is_named_and_nothing_is_left(runs, tmp_path):
    shutil.rmtree(runs.final("vocoder"))
    with pytest.raises(UserError, match="train.py vocoder --preset nano"):
        export(runs, "nano", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_too_large_keeps_the_old_checkpoint(runs, tmp_path, monkeypatch):
    out = tmp_path / "out"
    export(runs, "nano", out)
    mark = out / "omni_sft_nano" / "mark"
    mark.touch()
    monkeypatch.setattr(exporting, "LIMIT_BYTES", 1000)
    with pytest.raises(UserError, match="MB"):
        export(runs, "nano", out)
    assert mark.exists()
    assert not [path for path in Path(out).iterdir() if path.name.startswith(".")]
