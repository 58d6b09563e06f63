"""What people say, as lessons in what to expect."""

import random
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from models.errors import UserError
from models.expectation import line_ids
from models.omni import OmniModel
from models.tokenizer import BOS, EOS, Tokenizer
from training.objectives import words
from training.objectives.omni import OmniObjective, OmniTask
from training.rivals import UNHEARD
from training.spoken import LINES, SPOKEN, line_lessons, load_lines, save_lines


def test_lines_are_kept_once(tmp_path):
    save_lines(tmp_path, ["the cat", "a dog", "the cat"])
    assert load_lines(tmp_path) == ["the cat", "a dog"]


def test_missing_lines_say_what_to_run(tmp_path):
    with pytest.raises(UserError, match="train.py words"):
        load_lines(tmp_path)


def test_a_batch_learns_each_line_by_itself(nano_omni_dir):
    objective = object.__new__(OmniObjective)
    objective.model = OmniTask(OmniModel.from_pretrained(nano_omni_dir)).eval()
    objective.tokenizer = Tokenizer(nano_omni_dir / "tokenizer.model")
    objective.lines, objective.shares, objective.kinds = ["the cat sat", "a dog"], {"sentence": 1}, []
    objective.size, objective.pattern, objective.seed = 1, 1, 0
    batch = objective.batch(0, 0, 1)
    loss = objective.model(batch)
    drawn = line_lessons(objective.tokenizer, objective.lines, random.Random("omni-0-0-0"))
    assert len(drawn) == LINES and {lesson["ids"][0] for lesson in drawn} == {BOS}
    thinker, nats, count = objective.model.omni.thinker, 0.0, 0
    for lesson in drawn:
        assert lesson["ids"][-1] == EOS
        ids = torch.tensor(lesson["ids"])
        nats += F.cross_entropy(thinker(ids[None])[0, :-1], ids[1:], reduction="sum").item()
        count += len(ids) - 1
    assert loss.weight == count  # all but the beginning is learnt
    assert loss.total.item() == pytest.approx(nats, rel=1e-4)
    assert line_ids(objective.tokenizer, "a dog") in [lesson["ids"] for lesson in drawn]


def test_stage_words_leaves_what_clips_do_not_say(tmp_path, monkeypatch):
    said = ["the cat sat", "a dog", "the cat sat", "a dog"]
    monkeypatch.setattr(words, "lines", lambda *_: iter(said))
    monkeypatch.setattr(words, "said_in_clips", lambda _: {"a dog"})
    paths = SimpleNamespace(real=None, data=tmp_path, final=lambda stage: tmp_path / stage / "final")
    model = {"vocabulary": 10, "bigrams": 10, "trigrams": 10}
    words.run({"data": {}, "model": model}, paths)
    assert load_lines(tmp_path / "words" / "final") == ["the cat sat"]
    assert {path.name for path in (tmp_path / "words" / "final").iterdir()} >= {SPOKEN, UNHEARD}
