"""Rows of the token stream: where they begin, and what counts in them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from models.thinker import ThinkerConfig
from training.objectives.thinker import (
    ANYWHERE,
    GIVEN_WEIGHT,
    ThinkerObjective,
    ThinkerTask,
    given,
)

BOS, EOS, SYSTEM, USER, ASSISTANT, THINK, THOUGHT, RATIONALE = 1, 2, 4, 5, 6, 7, 8, 21
SIZES = ThinkerConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                      num_key_value_heads=1, head_dim=8, intermediate_size=16)
# The end of an answer, a chat, one with thinking, and plain text.
IDS = [20, EOS, BOS, SYSTEM, 9, EOS, USER, 10, 11, EOS, ASSISTANT, 12, EOS]
IDS += [USER, 13, EOS, ASSISTANT, THINK, 17, 18, RATIONALE, 22, THOUGHT, 19, EOS, BOS, 14, 15]
# Before a token of a user's turn, or of thinking up to its rationale.
GIVEN = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def symbols() -> SimpleNamespace:
    """What the loss asks of a tokenizer."""
    roles = {"<|system|>": SYSTEM, "<|user|>": USER, "<|assistant|>": ASSISTANT}
    return SimpleNamespace(
        bos=BOS, symbols=roles, think=THINK, think_end=THOUGHT, encode=lambda _: [RATIONALE]
    )


def test_what_is_given_is_told_from_all_else():
    ids = torch.tensor([IDS, IDS[::-1]])
    opening, others = torch.tensor([USER, THINK]), torch.tensor([BOS, SYSTEM, ASSISTANT, THOUGHT, RATIONALE])
    assert given(ids, opening, others)[0].tolist() == [bool(one) for one in GIVEN]
    assert not given(torch.tensor([[9, 9, EOS]]), opening, others).any()


def test_what_is_given_counts_less_in_training_and_as_much_in_dev():
    torch.manual_seed(0)
    task, batch = ThinkerTask(SIZES, symbols()), torch.tensor([[*IDS, 16]])
    logits = task.thinker(batch[:, :-1])[0]
    losses = F.cross_entropy(logits, batch[0, 1:], reduction="none")
    weights = torch.where(torch.tensor(GIVEN) == 1, GIVEN_WEIGHT, 1.0)
    weights[IDS.index(THINK) - 1] = 0  # nobody learns to begin thinking by himself
    loss = task.train()(batch)
    assert loss.weight == pytest.approx(float(weights.sum()))
    assert loss.total.item() == pytest.approx((losses * weights).sum().item(), rel=1e-5)
    loss = task.eval()(batch)
    assert loss.weight == len(IDS) and loss.total.item() == pytest.approx(losses.sum().item(), rel=1e-5)


def test_most_rows_begin_with_a_document_and_some_anywhere():
    stream = np.full(4000, 9, np.uint16)
    stream[::50] = BOS
    begins = {"train": np.arange(0, 3979, 50)}
    objective = SimpleNamespace(streams={"train": stream}, length=21, begins=begins)
    rows = ThinkerObjective.rows(objective, "train", range(400), 3)
    assert rows.shape == (400, 21)
    begun = float((rows[:, 0] == BOS).float().mean())
    assert 1 - ANYWHERE - 0.08 < begun < 1 - ANYWHERE + 0.08
    assert torch.equal(rows[7:9], ThinkerObjective.rows(objective, "train", range(7, 9), 3))
    objective.begins = {"train": np.array([], int)}
    assert len(ThinkerObjective.rows(objective, "train", range(9), 3)) == 9
