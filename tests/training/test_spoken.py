"""What people say, and stage `expectation`, which learns it."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from models.errors import UserError
from models.expectation import Expectation, ExpectationConfig
from models.omni import OmniModel
from models.tokenizer import BOS, EOS, Tokenizer
from training.config import TrainConfig
from training.objectives import words
from training.objectives.expectation import ExpectationObjective, ExpectationTask, dev_lines
from training.objectives.words import BOOKS
from training.optimizer import make_optimizers
from training.rivals import UNHEARD
from training.spoken import SPOKEN, line_lesson, load_lines, save_lines

SAID = ["the cat sat", "a dog", "what is the opposite of hot", "how many dogs are there"]


def test_lines_are_read_as_they_were_left(tmp_path):
    save_lines(tmp_path, ["the cat", "a dog", "the cat"])
    assert load_lines(tmp_path) == ["the cat", "a dog", "the cat"]


def test_missing_lines_say_what_to_run(tmp_path):
    with pytest.raises(UserError, match="train.py words"):
        load_lines(tmp_path)


def test_stage_words_leaves_each_line_once_and_those_of_books_several_times(tmp_path, monkeypatch):
    said = ["the cat sat", "a dog", "the cat sat", "a dog"]
    monkeypatch.setattr(words, "lines", lambda *_: iter(said))
    monkeypatch.setattr(words, "said_in_clips", lambda _: {"a dog"})
    monkeypatch.setattr(words, "from_books", lambda _: ["a dog"])
    paths = SimpleNamespace(real=None, data=tmp_path, final=lambda stage: tmp_path / stage / "final")
    model = {"vocabulary": 10, "bigrams": 10, "trigrams": 10}
    words.run({"data": {}, "model": model}, paths)
    left = load_lines(tmp_path / "words" / "final")
    assert [left.count(line) for line in ("the cat sat", "a dog")] == [1, BOOKS]
    assert {path.name for path in (tmp_path / "words" / "final").iterdir()} >= {SPOKEN, UNHEARD}


@pytest.fixture
def objective(nano_omni_dir):
    """Of four lines, two a batch."""
    made = object.__new__(ExpectationObjective)
    made.size, made.seed, made.lines = 4, 0, SAID
    made.tokenizer = Tokenizer(nano_omni_dir / "tokenizer.model")
    made.model = ExpectationTask(OmniModel.from_pretrained(nano_omni_dir).thinker)
    made.dev = {"sentence": ["a cat"], "word": ["a"]}
    return made


def test_a_batch_learns_each_line_by_itself(objective):
    loss = objective.model(objective.batch(0, 0, 1))
    thinker, nats, count = objective.model.thinker, 0.0, 0
    for line in SAID:
        ids = torch.tensor(line_lesson(objective.tokenizer, line)["ids"])
        assert ids[0] == BOS and ids[-1] == EOS
        nats += F.cross_entropy(thinker(ids[None])[0, :-1], ids[1:], reduction="sum").item()
        count += len(ids) - 1
    assert int(loss.weight) == count  # all but the beginning is learnt
    assert loss.total.item() == pytest.approx(nats, rel=1e-4)  # nothing is changed as yet


def test_slices_are_the_batch(objective):
    halves = [objective.model(objective.batch(3, rank, 2)).total.item() for rank in (0, 1)]
    assert sum(halves) == pytest.approx(objective.model(objective.batch(3, 0, 1)).total.item(), rel=1e-4)


def test_lines_are_learnt_and_the_thinker_stays_as_it_is(objective, tmp_path):
    before = {name: tensor.clone() for name, tensor in objective.model.thinker.state_dict().items()}
    first = objective.model(objective.batch(0, 0, 1)).total.item()
    [adamw, muon] = make_optimizers(
        objective.model, TrainConfig(steps=9, batch_size=4, lr=0.01, optimizer="muon")
    )
    for step in range(8):
        objective.model(objective.batch(step, 0, 1)).total.backward()
        for optimizer in (adamw, muon):
            optimizer.step()
            optimizer.zero_grad()
    assert objective.model(objective.batch(0, 0, 1)).total.item() < 0.8 * first
    for name, tensor in objective.model.thinker.state_dict().items():
        assert torch.equal(tensor, before[name])
    with torch.no_grad():
        assert objective.validate().keys() == objective.dev.keys()
    objective.save(tmp_path)
    assert (tmp_path / "model.safetensors").stat().st_size < sum(t.numel() for t in before.values())


def test_learning_goes_on_from_what_a_checkpoint_expects(objective, nano_omni_dir, tmp_path):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    omni.expectation = Expectation.of(omni.thinker)
    torch.nn.init.normal_(omni.expectation.words.weight)
    omni.save_pretrained(tmp_path)
    saved = OmniModel.from_pretrained(tmp_path).expectation.words.weight
    objective.init_from(tmp_path)
    assert saved.abs().sum() > 0
    assert torch.equal(objective.model.expectation.words.weight, saved)


def test_what_another_thinker_expects_is_refused(objective, nano_omni_dir, tmp_path):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    omni.expectation = Expectation(ExpectationConfig(1, {"self_attn.q_proj": [4, 4]}, [8, 4]))
    omni.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="another Thinker"):
        objective.init_from(tmp_path)


def test_development_lines_are_said_in_no_training_clip():
    found = dev_lines(None)
    assert {"sentence", "talk_question", "scene_question"} <= found.keys()
    assert found == dev_lines(None)
