"""Photographs: reading the manifest's files, splits, what is asked of them, and what counts as named."""

import io
import random

import numpy as np
import pytest
from PIL import Image

from data.readers.photos import FILES, photo_split, photos, present
from data.scenes.photos import (
    NO_DETAIL,
    build_photos,
    named,
    photo_question,
    photo_thinking,
    phrase,
)
from data.shards import ShardReader
from models.errors import UserError
from tests.fixtures.photos import write_photos

FOX = {"name": "fox", "corpus": "cifar100", "other": "palm tree"}


@pytest.fixture
def real(tmp_path):
    """One set of 60 photographs of two things."""
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (32, 32, 3), dtype=np.uint8) for _ in range(60)]
    images = [Image.fromarray(picture) for picture in noise]
    write_photos(tmp_path / "real", "cifar100", images, [0, 1] * 30, ["fox", "palm_tree"], "JPEG")
    return tmp_path / "real"


def test_every_photograph_is_in_one_split(real):
    splits = {s: [p.encoded for p in photos(real, "cifar100", s)] for s in ("train", "dev", "test")}
    assert sum(map(len, splits.values())) == 60 and len(splits["train"]) > 40
    assert len({e for found in splits.values() for e in found}) == 60
    assert all(photo_split(e) == s for s, found in splits.items() for e in found)


def test_shards_hold_the_file_and_what_the_resnet_sees(real, tmp_path, capsys):
    folder = tmp_path / "photos_train"
    count = build_photos(folder, real, "train")
    assert "cifar10" in capsys.readouterr().err  # the sets that are missing are told
    shards = ShardReader(folder)
    assert len(shards) == count
    record = shards[0]
    assert {record["name"], record["other"]} == {"fox", "palm tree"}
    assert record["small"].shape == (3, 32, 32)
    with Image.open(io.BytesIO(record["image"])) as image:
        wide = np.asarray(image, float).transpose(2, 0, 1)
    apart = [np.abs(picture - record["small"]).mean() for picture in (wide, wide[:, ::-1])]
    assert apart[0] < 0.5 * apart[1]  # upside down it is another picture
    assert build_photos(folder, real, "train") == 0  # there already


def test_no_photographs_no_folder(tmp_path):
    assert build_photos(tmp_path / "photos_train", None, "train") == 0
    assert present(None) == [] and not (tmp_path / "photos_train").exists()


def test_a_file_that_is_no_set_is_named(tmp_path):
    path = tmp_path / FILES["cifar10"]
    path.parent.mkdir()
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match="train15k.npz"):
        list(photos(tmp_path, "cifar10", "train"))


def test_what_is_asked_and_answered():
    rng = random.Random(0)
    assert photo_thinking(FOX) == "A photo of a fox." and phrase("pants") == "pants"
    assert photo_question(FOX, "name", rng, "train")["answer"] == "A fox."
    assert photo_question(FOX, "detail", rng, "test")["answer"] == NO_DETAIL
    for _ in range(20):
        check = photo_question(FOX, "check", rng, "train")
        assert check["answer"] == ("Yes." if "a fox" in check["question"] else "No.")
        assert "fox" in check["question"] or "a palm tree" in check["question"]
    trained = {photo_question(FOX, "name", rng, "train")["question"] for _ in range(300)}
    held_out = {photo_question(FOX, "name", rng, "test")["question"] for _ in range(300)}
    assert not trained & held_out


def test_naming_a_longer_thing_is_not_naming_the_shorter():
    known = ["truck", "pickup truck", "shirt", "t-shirt", "fox"]
    assert named("A pickup truck.", known) == {"pickup truck"}
    assert named("It is a t-shirt.", known) == {"t-shirt"}
    assert named("A fox or a truck", known) == {"fox", "truck"}
    assert named("Foxglove", known) == set()
