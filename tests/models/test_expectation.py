"""What the Thinker expects people to say."""

import pytest
import torch

from models.expectation import expected, line_ids
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
