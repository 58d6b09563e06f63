"""Slices of a batch are the batch: what two processes learn from is what one would."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from data.scenes.build import SEEDS, MakeScene
from training.objectives.omni import OmniObjective
from training.objectives.talker import TalkerObjective
from training.objectives.thinker import ThinkerObjective
from training.objectives.vision import VisionObjective


@pytest.mark.parametrize("world", [2, 4])
def test_rows_of_the_thinker(world):
    objective = object.__new__(ThinkerObjective)
    objective.size, objective.seed, objective.length = 6, 3, 9
    objective.streams = {"train": np.arange(4000, dtype=np.uint16)}
    objective.begins = {"train": np.arange(0, 3900, 50)}
    parts = torch.cat([objective.batch(3, rank, world) for rank in range(world)])
    assert torch.equal(parts, objective.batch(3, 0, 1))
    assert not torch.equal(parts, objective.batch(4, 0, 1))


def drawn(kind: str, rng: random.Random, split: str, length: float) -> dict:
    """A sample that tells its kind, what was drawn for it and how long its batch is."""
    assert split == "train"
    ids = [kind, rng.randrange(1000), round(1000 * length), *range(rng.randrange(20))]
    return {"ids": [7, *ids], "targets": [-100, *ids], "images": [], "sounds": []}


@pytest.mark.parametrize("world", [2, 4])
def test_samples_of_the_joint_stage(world):
    objective = object.__new__(OmniObjective)
    objective.size, objective.seed, objective.pattern = 8, 3, [11, 12, 12, 13]
    objective.tokenizer, objective.model = SimpleNamespace(pad=0), SimpleNamespace(remembered=None)
    objective.sample = drawn

    def samples(rank: int, world: int, step: int = 3) -> list[tuple]:
        batch = objective.batch(step, rank, world)
        ids, targets, packed = (batch[name].flatten() for name in ("ids", "targets", "packed"))
        places = [packed == place for place in packed.unique()[:-1]]
        return [(*ids[at].tolist(), *targets[at].tolist()) for at in places]

    whole = samples(0, 1)
    assert len(whole) == 8
    assert sorted(one for rank in range(world) for one in samples(rank, world)) == sorted(whole)
    assert not set(samples(0, 1, step=4)) & set(whole)


@pytest.mark.parametrize("world", [2, 3])
def test_pictures_come_epoch_by_epoch_however_a_batch_is_sliced(world):
    objective = object.__new__(VisionObjective)
    objective.size, objective.seed, objective.photos = 6, 3, None
    objective.train = [(range(8), i) for i in range(8)]
    objective.items = lambda records: {"records": list(records)}
    whole = [objective.batch(step, 0, 1)["records"] for step in range(4)]
    for step in range(4):
        parts = [objective.batch(step, rank, world)["records"] for rank in range(world)]
        assert sum(parts, []) == whole[step]
    seen = sum(whole, [])
    assert all(sorted(seen[i : i + 8]) == list(range(8)) for i in (0, 8, 16))
    assert seen[:8] != seen[8:16]


def test_each_cell_has_the_letters_of_its_four_patches(monkeypatch):
    patches = np.arange(14 * 14).reshape(14, 14)
    monkeypatch.setattr("training.objectives.vision.letter_labels", lambda scene: patches)
    record, blobs = MakeScene(SEEDS["train"], "train")(0)
    letters = VisionObjective.items([record | blobs])["letters"][0]
    assert letters.shape == (49, 4)
    for row in range(7):
        for column in range(7):
            wanted = patches[2 * row : 2 * row + 2, 2 * column : 2 * column + 2].flatten()
            assert letters[7 * row + column].tolist() == wanted.tolist()


class Numbered:
    """Utterances that are known by their numbers."""

    def __init__(self, count: int):
        self.seconds = np.random.default_rng(0).random(count).tolist()

    def __len__(self) -> int:
        return len(self.seconds)

    def gather(self, picks: list[int]) -> dict:
        return {"picks": picks}


@pytest.mark.parametrize("world", [2, 4])
def test_utterances_and_words_of_the_talker(world, monkeypatch):
    monkeypatch.setattr("training.objectives.talker.word_batch", list)
    objective = object.__new__(TalkerObjective)
    objective.size, objective.seed, objective.train = 6, 3, Numbered(500)
    objective.said, objective.lexicon = ([(f"{name}{i}", ()) for i in range(300)] for name in "ab")
    whole = objective.batch(3, 0, 1)
    parts = [objective.batch(3, rank, world) for rank in range(world)]
    for name in ("picks", "words"):
        assert sum((part[name] for part in parts), []) == whole[name]
    lengths = [objective.train.seconds[n] for n in whole["picks"]]
    assert len(lengths) == 6 and max(lengths) - min(lengths) < 0.3
    assert whole != objective.batch(4, 0, 1)
