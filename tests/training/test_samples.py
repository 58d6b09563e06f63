"""The omni stage: packing samples; the vision stage: what image tokens should read as."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from data.scenes.captions import sights
from data.scenes.labels import PLANES
from data.scenes.render import render_with_cells
from data.scenes.scene import Background, Scene, Thing
from data.turns import text_part, thinking_part, turn
from models.tokenizer import Tokenizer
from training.objectives.omni import OmniObjective, replies, replies_right
from training.packing import pack
from training.reading import DIGITS, WordReader, places

SCENE = Scene(
    "several",
    Background("flat", "blue", (40, 92, 220), (40, 92, 220)),
    [
        Thing("shape", "circle", "red", "large", 60.0, 60.0, 100.0, rgb=(222, 38, 38)),
        Thing("shape", "square", "green", "small", 180.0, 190.0, 44.0, rgb=(45, 165, 70)),
    ],
)


def test_packing_fills_rows_and_loses_nothing():
    lengths = [3, 9, 4, 6, 2, 10]
    rows = pack(lengths, 10)
    assert sorted(item for row in rows for item in row) == list(range(6))
    assert all(sum(lengths[i] for i in row) <= 10 for row in rows)
    assert len(rows) == 4  # 34 tokens


def test_replies_of_a_packed_row_are_counted_apart():
    targets = torch.tensor([-100, 5, 6, -100, 7, -100, -100, 8, 9])
    hits = torch.tensor([False, True, True, False, False, False, False, True, True])
    assert replies(targets) == 3 and replies_right(hits, targets) == 2


def test_of_what_is_told_in_words_only_the_answers_are_learnt():
    tokenizer = Tokenizer("checkpoints/omni_sft_tiny/tokenizer.model")
    objective = object.__new__(OmniObjective)
    objective.tokenizer = tokenizer
    config = SimpleNamespace(max_position_embeddings=1024)
    objective.model = SimpleNamespace(omni=SimpleNamespace(thinker=SimpleNamespace(config=config)))
    later = turn([text_part("How many?")], "One.")
    for asked, thinks, right in (
        ({}, True, "A cat.One."),
        ({"rationale": "a cat yes"}, True, "\nQuestion: a cat yes.A cat.One."),
        ({}, False, "One."),
    ):
        thinking = thinking_part([], "So: a cat.", asked)
        conversation = (turn([text_part("What?")], "A cat.", thinking) if thinks else []) + later
        sample = objective.answers_alone({"messages": conversation})
        learnt = [i for i in sample["targets"] if i != -100]
        words = tokenizer.decode([i for i in learnt if i not in tokenizer.special])
        assert words.removeprefix(".") == right  # one token may be a full stop and the line's end
        assert len(sample["ids"]) == len(sample["targets"]) and tokenizer.think not in learnt


def test_places_are_those_of_the_cells_things():
    _, cells = render_with_cells(SCENE)
    where = places(SCENE, cells).reshape(7, 7, 3)
    assert where[1, 1] == pytest.approx([60 / 112 - 1, 60 / 112 - 1, 26 / 34], abs=0.01)
    assert where[5, 5] == pytest.approx([180 / 112 - 1, 190 / 112 - 1, -30 / 34], abs=0.01)
    assert (where[0, 6] == 0).all()


def test_reading_rewards_the_right_words_and_places():
    """The control: a picture's own words must score better than those of its mirror image."""
    _, cells = render_with_cells(SCENE)
    tokenizer = Tokenizer("checkpoints/omni_sft_tiny/tokenizer.model")
    torch.manual_seed(0)
    reader = WordReader(8, torch.randn(tokenizer.vocab_size, 64), tokenizer, ["fox"])
    flat = torch.from_numpy(cells.astype(np.int64)).flatten(1)[None]  # (1, planes, 49)
    where = torch.from_numpy(places(SCENE, cells))[None]
    read = reader.one * (flat[0, PLANES.index("centre")] > 0)[:, None]
    read = read + where[0] @ torch.linalg.pinv(reader.axes).T
    read = read + reader.object[flat[0, 0]]
    read = read + reader.color[torch.where(flat[0, 0] > 0, flat[0, 1], 5)]
    addresses = reader.column[None, :] + reader.row[:, None]  # (7, 7, hidden)
    read = (read + addresses.flatten(0, 1)).view(7, 7, -1)
    reader.projector = torch.nn.Identity()
    losses = [
        float(reader(words.flatten(0, 1)[None], flat, torch.tensor([4]), where)[0])
        for words in (read, read.flip(1), read - addresses + addresses.flip(1))
    ]
    assert losses[0] < 0.5 * losses[1] and losses[0] < 0.8 * losses[2]


def test_a_cell_reads_as_the_address_that_thinking_cites():
    """Copying it from the token writes the address; the digits of a sign are none."""
    tokenizer = Tokenizer("checkpoints/omni_sft_tiny/tokenizer.model")
    table = torch.randn(tokenizer.vocab_size, 64)
    reader = WordReader(8, table, tokenizer, [])
    sight = next(sight for sight in sights(SCENE) if sight.cell == (5, 5))
    assert sight.address == "F6"
    words = reader.column[5] + reader.row[5]
    assert torch.equal(words, table[tokenizer.encode(f" {sight.address}")].sum(0))
    assert not any(torch.equal(reader.row[6], reader.get_buffer(digits)[7]) for digits in DIGITS)
