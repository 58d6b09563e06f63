"""Packed rows: each token keeps its sample's number, and media come in the order they are read."""

from itertools import groupby

import torch

from models.omni import OmniModel
from training.objectives.omni import OmniTask
from training.packing import pack_samples

PAD = 9


def sample(k: int) -> dict:
    """A sample that says its number in every token and in its picture; later ones are longer."""
    ids = [k] * (60 + 40 * k)
    return {"ids": ids, "targets": ids, "images": [bytes([k])], "sounds": []}


def test_samples_are_returned_in_the_order_they_are_read():
    batch, order = pack_samples([sample(k) for k in range(5)], PAD)
    read = [place for row in batch["packed"].tolist() for place, _ in groupby(row) if place < 5]
    assert sorted(read) == list(range(5)) and len(batch["ids"]) > 1
    assert [one["images"][0][0] for one in order] == read != list(range(5))


def test_every_token_is_of_the_sample_that_packed_tells():
    batch, _ = pack_samples([sample(k) for k in range(5)], PAD)
    for row, ids, targets in zip(batch["packed"], batch["ids"], batch["targets"], strict=True):
        for place in set(row.tolist()):
            of = row == place
            assert set(ids[of].tolist()) == {place if place < 5 else PAD}
            assert set(targets[of].tolist()) == {place if place < 5 else -100}
    counts = torch.bincount(batch["packed"].flatten())[:5].tolist()
    assert counts == [59 + 40 * k for k in range(5)]


def test_batch_norms_keep_their_statistics_while_all_else_trains(nano_omni_dir):
    task = OmniTask(OmniModel.from_pretrained(nano_omni_dir), ["vision."]).train()
    assert task.omni.thinker.training and task.omni.audio.training
    assert not any(module.training for module in task.omni.vision.resnet.modules())
