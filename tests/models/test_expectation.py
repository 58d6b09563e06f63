"""What the Thinker expects people to say."""

import copy

import pytest
import torch

from models.expectation import Expectation, expected, line_ids
from models.omni import OmniModel
from models.tokenizer import Tokenizer


@pytest.fixture
def judge(nano_omni_dir):
    """(Thinker, tokenizer) of an untrained model."""
    return OmniModel.from_pretrained(nano_omni_dir).thinker, Tokenizer(nano_omni_dir / "tokenizer.model")


def test_lines_are_judged_together_as_alone(judge):
    thinker, tokenizer = judge
    lines = ["a dog", "the cat sat on the mat", ""]
    together = expected(thinker, tokenizer, lines)
    assert together == pytest.approx([expected(thinker, tokenizer, [line])[0] for line in lines], abs=1e-3)
    assert len(set(together)) == len(lines)


def test_it_is_the_thinkers_probability_of_the_line(judge):
    thinker, tokenizer = judge
    ids = line_ids(tokenizer, "a dog")
    with torch.no_grad():
        said = thinker(torch.tensor([ids]))[0].log_softmax(-1)  # (L, V)
    nats = sum(said[place, token].item() for place, token in enumerate(ids[1:]))
    assert expected(thinker, tokenizer, ["a dog"]) == pytest.approx([nats], abs=1e-3)


@pytest.fixture
def taught(judge):
    """What people say, by lot."""
    made = Expectation.of(judge[0])
    torch.manual_seed(0)
    for weight in made.parameters():
        torch.nn.init.normal_(weight, std=0.05)
    return made


def test_nothing_is_changed_before_it_is_taught(judge):
    thinker, tokenizer = judge
    same = Expectation.of(thinker).judge(thinker)
    assert expected(same, tokenizer, ["a dog"]) == expected(thinker, tokenizer, ["a dog"])


def test_a_judge_stands_beside_the_thinker(judge, taught):
    thinker, tokenizer = judge
    before = expected(thinker, tokenizer, ["a dog"])
    other = expected(taught.judge(thinker), tokenizer, ["a dog"])
    assert abs(other[0] - before[0]) > 0.1
    assert expected(thinker, tokenizer, ["a dog"]) == before


def test_beside_another_thinker_it_expects_what_it_did(judge, taught):
    thinker = judge[0]
    other, moved = copy.deepcopy(thinker), copy.deepcopy(taught)
    moved.move(thinker, thinker)
    assert all(torch.equal(a, b) for a, b in zip(moved.parameters(), taught.parameters(), strict=True))
    for weight in other.parameters():
        torch.nn.init.normal_(weight, std=0.25)
    moved.move(thinker, other)
    for name, change in moved.changes().items():
        wanted = thinker.get_submodule(name).weight + taught.changes()[name].weight
        torch.testing.assert_close(other.get_submodule(name).weight + change.weight, wanted)


def test_changes_have_three_values_a_row_and_are_read_as_they_were(judge, taught, tmp_path):
    thinker, tokenizer = judge
    changed = taught.changed(thinker)
    assert changed.keys() == {name for name, weight in thinker.named_parameters() if weight.dim() == 2}
    for name, weight in changed.items():
        rows = (weight - thinker.get_parameter(name)).round(decimals=3)
        assert max(len(row.unique()) for row in rows) == 3
    taught.save_pretrained(tmp_path)
    read = Expectation.from_pretrained(tmp_path)
    lines = ["a dog", "the cat sat on the mat"]
    said = [expected(one.judge(thinker), tokenizer, lines) for one in (taught, read)]
    assert said[1] == pytest.approx(said[0], rel=0.01)
    read.save_pretrained(tmp_path / "again")
    again = Expectation.from_pretrained(tmp_path / "again")
    for one, other in zip(read.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other)
