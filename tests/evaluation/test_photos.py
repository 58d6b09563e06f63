"""Photographs are asked by set, with a control."""

import pytest
from PIL import Image

from data.readers.photos import FILES
from evaluation.asking import Asker
from evaluation.photos import ask_photos
from evaluation.setting import Setting
from tests.fixtures.photos import write_photos


class SaysCat(Asker):
    """Answers every question alike."""

    def __init__(self):
        pass

    def ask(self, turns, desc):
        return ["A cat." if turn.text[-1] != "?" or "cat" not in turn.text else "Yes." for turn in turns]


class SeesRed(SaysCat):
    """Names what a photograph shows by its red, which is even for cats."""

    def ask(self, turns, desc):
        seen = ["dog" if int(turn.images[0].pixels[0].float().mean()) % 2 else "cat" for turn in turns]
        return [self.told(turn.text, name) for turn, name in zip(turns, seen, strict=True)]

    @staticmethod
    def told(question: str, name: str) -> str:
        if "cat" in question or "dog" in question:
            return "Yes." if name in question else "No."
        return f"A {name}."


@pytest.fixture
def setting(tmp_path) -> Setting:
    """200 photographs, every second of a cat, the others of a dog."""
    images = [Image.new("RGB", (8, 8), (i, 255 - i, 7)) for i in range(200)]
    write_photos(tmp_path / "real", "cifar10", images, [0, 1] * 100, ["cat", "dog"])
    for corpus in FILES.keys() - {"cifar10"}:  # sets of which no photograph is drawn
        write_photos(tmp_path / "real", corpus, [], [], ["fox"])
    return Setting(tmp_path, tmp_path, tmp_path / "data", tmp_path / "real")


def test_only_the_right_name_counts(setting):
    figures = ask_photos(SaysCat(), setting)
    right = figures["photo/cifar10"]
    assert 0 < right.value < 1 and right.n > 5  # the dogs are wrong


def test_another_photograph_is_another_thing(setting):
    figures = ask_photos(SeesRed(), setting)
    assert figures["photo/cifar10"].value == figures["photo/check"].value == 1.0
    assert figures["photo_shuffled/cifar10"].value < 1
    assert figures["photo_shuffled/check"].value < 1


def test_without_real_data_nothing_is_claimed(setting):
    assert ask_photos(SaysCat(), Setting(setting.ckpt_dir, setting.ckpt_dir, setting.data_dir, None)) == {}
