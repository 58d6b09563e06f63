"""Small photographs put on another ground: where they lie, and what of them is left."""

import numpy as np

from training.photos import PhotoBatches, placed

GROUND, THING = (240, 238, 235), (200, 30, 30)


def photo() -> np.ndarray:
    pixels = np.empty((32, 32, 3), np.uint8)
    pixels[:] = GROUND
    pixels[9:23, 9:23] = THING
    return pixels.transpose(2, 0, 1)


def share(picture: np.ndarray, color: tuple[int, int, int]) -> float:
    return float((np.abs(picture.transpose(1, 2, 0) - np.array(color)).max(2) < 12).mean())


def test_a_thing_is_cut_out_of_an_even_ground():
    made = [placed(photo(), np.random.default_rng(seed)) for seed in range(40)]
    assert all(m.shape == (3, 32, 32) and m.dtype == np.uint8 for m in made)
    sizes = [share(m, THING) for m in made]
    assert min(sizes) > 0.1 and max(sizes) > 0.6 > 0.3 > min(sizes)
    assert np.median([share(m, GROUND) for m in made]) < 0.02
    assert (placed(photo(), np.random.default_rng(3)) == made[3]).all()


def test_other_photographs_stay_whole():
    noise = np.random.default_rng(0).integers(0, 256, (3, 32, 32), np.uint8)
    made = [placed(noise, np.random.default_rng(seed)) for seed in range(20)]
    corners = np.stack([m[:, [0, 0, -1, -1], [0, -1, 0, -1]] for m in made])  # (20, 3, 4)
    assert len(np.unique(corners.reshape(20, -1), axis=0)) == 20
    assert np.mean([m.std() for m in made]) > 20


def test_a_photograph_as_large_as_the_picture_is_given_back(monkeypatch):
    monkeypatch.setattr("training.photos.PLACED_SIDE", (1, 1))
    noise = np.random.default_rng(0).integers(0, 256, (3, 32, 32), np.uint8)
    assert (placed(noise, np.random.default_rng(1)) == noise).all()


def test_each_set_is_gone_through_epoch_by_epoch():
    batches = object.__new__(PhotoBatches)
    batches.sets = {"pets": (None, np.zeros(5)), "hats": (None, np.zeros(4))}
    batches.shares, batches.size, batches.seed = {"pets": 2, "hats": 1}, 6, 0
    batches.pattern = [("pets", 0), ("pets", 1), ("hats", 0)]
    chosen = [one for step in range(10) for one in batches.items(step, range(6))]
    for name, count in (("pets", 5), ("hats", 4)):
        order = [index for which, index in chosen if which == name]
        epochs = [order[i : i + count] for i in range(0, len(order), count)]
        assert len(epochs) > 4 and all(sorted(epoch) == list(range(count)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) > 2
