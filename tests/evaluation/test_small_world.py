"""The small world's examination: what it asks, and that its controls are others' answers."""

import numpy as np
import pytest

from evaluation import small_world
from evaluation.setting import Setting
from inference.speech import Speaker


@pytest.fixture
def setting(nano_omni_dir):
    return Setting(nano_omni_dir, nano_omni_dir, nano_omni_dir, None, limit=4, workers=1)


class Knowing:
    """Stands for a model that answers from a list."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def ask(self, turns, desc):
        self.asked.append(turns)
        return self.answers(turns)


def test_words_are_right_by_their_letters_and_the_control_is_another_word():
    texts = iter([r["text"].upper() for r in small_world.samples("test", "words")])
    rows, control = small_world.heard(Knowing(lambda turns: [next(texts) for _ in turns]))
    assert all(right for *_, right in rows) and not any(control)


def test_pictures_are_right_with_shape_and_colour_and_grey_ones_are_asked_alike():
    asker = Knowing(lambda turns: ["A red circle."] * len(turns))
    rows, _ = small_world.seen(asker, 40)
    assert {truth for truth, _, right in rows if right} <= {"A red circle."}
    named, grey = asker.asked
    assert [turn.text for turn in named] == [turn.text for turn in grey]
    assert len({bytes(turn.images[0].pixels.numpy()) for turn in grey}) == 1


def test_an_untrained_model_fails_every_part(setting, monkeypatch):
    monkeypatch.setattr(small_world, "WORDS", ("Red.",))
    monkeypatch.setattr(small_world, "PAIRS", ("A red star.",))
    few = small_world.samples("test", "words")[:2]
    monkeypatch.setattr(small_world, "samples", lambda *_: few)
    monkeypatch.setattr(small_world, "hear", lambda waves, *_, choices: [""] * len(waves))
    figures = small_world.measure(setting)
    assert sorted(figures) == sorted(
        name for part in ("answers", "pictures", "hears", "says") for name in (part, f"{part}/control")
    )
    assert all(np.isclose(figure.value, 0.0) for figure in figures.values())


def test_what_is_said_is_held_against_its_own_text_and_the_control_is_in_another_order(
    nano_omni_dir, monkeypatch
):
    monkeypatch.setattr(small_world, "WORDS", ("Red.",))
    monkeypatch.setattr(small_world, "PAIRS", ("A red star.",))
    judged = []

    def hear(waves, *_, choices):
        judged.append(waves)
        return list(choices)

    monkeypatch.setattr(small_world, "hear", hear)
    rows, _ = small_world.spoken(Speaker.from_pretrained(nano_omni_dir), 1)
    assert rows == [("Red.", "Red.", True), ("A red star.", "A red star.", True)]
    said, control = judged
    for own, mixed in zip(said, control, strict=True):
        assert own.shape == mixed.shape and not np.allclose(own, mixed)
