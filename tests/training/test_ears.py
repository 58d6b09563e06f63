"""The audio stage: CTC labels, and the pieces that a batch is scored against."""

import pytest
import torch

from models.audio import AudioConfig
from training.objectives.audio import AudioTask, ctc_labels, ctc_slots_needed, spoken_letters

SIZES = {"hidden_size": 32, "num_layers": 1, "num_heads": 2, "num_kv_heads": 1, "head_dim": 16}


@pytest.fixture(scope="module")
def task() -> AudioTask:
    torch.manual_seed(0)
    config = AudioConfig(**SIZES, intermediate_size=48, conv_size=32)
    return AudioTask(config, torch.randn(1500, 24)).eval()


def test_a_path_loses_repeats_and_blanks():
    assert ctc_labels([0, 5, 5, 0, 5, 7, 7, 0]) == [5, 5, 7]
    assert ctc_labels([]) == []


@pytest.mark.parametrize("labels, slots", [("abc", 3), ("aab", 4), ([7, 7, 7], 5), ("", 0)])
def test_equal_neighbours_need_a_blank_between(labels, slots):
    assert ctc_slots_needed(labels) == slots


def test_letters_are_lower_case_without_marks():
    assert spoken_letters("Don't, Anna!") == "don't anna"


def test_rivals_hold_the_blank_first_and_every_piece_of_the_batch(task):
    pieces = [torch.tensor([9, 1400, 9]), torch.tensor([3])]
    rivals, places = task.draw_rivals(pieces)
    assert rivals[0] == 0 and len(rivals) == len(rivals.unique()) == 1024
    for row, place in zip(pieces, places, strict=True):
        assert torch.equal(rivals[place], row)


def test_among_rivals_the_odds_between_pieces_are_those_among_all(task):
    encoded = torch.randn(2, 5, 32)
    rivals = torch.tensor([0, 4, 900])
    all_odds = task.pieces(encoded)[..., rivals]
    few = task.pieces(encoded, rivals)
    torch.testing.assert_close(few - few[..., :1], all_odds - all_odds[..., :1])


def test_both_heads_and_the_ears_learn(task):
    batch = {
        "mel": torch.randn(2, 128, 160),
        "lengths": torch.tensor([160, 90]),
        "letters": [torch.tensor([1, 2, 3]), torch.tensor([4])],
        "pieces": [torch.tensor([30, 31]), torch.tensor([40])],
    }
    loss = task(batch)
    loss.total.backward()
    assert loss.weight == 4
    for part in (task.audio, task.projector, task.head):
        assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in part.parameters())
    assert not task.words.requires_grad
