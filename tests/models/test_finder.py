"""The finder: from what linear heads claim to things, and from things to the notes of lessons."""

import random

import pytest
import torch
from torch import Tensor

from data.scenes.captions import sights
from data.scenes.notes import clip_notes, scene_notes
from data.scenes.objects import COLORS, WORDS
from data.scenes.scene import Scene, sample_scene
from models.finder import DIGITS, Finder, Found, middles, notes
from models.notes import CELL, Sight
from training.objectives.finder import vocabulary

SURE = 9.0  # a logit
CONFIG = vocabulary(16)


def put(rows: Tensor, cell: int, index: int) -> None:
    rows[cell] = -SURE
    rows[cell, index] = SURE


def told_of(scene: Scene) -> dict[str, Tensor]:
    """The logits of a finder that knows the truth: a centre is claimed by its own cell alone."""
    sizes = {"centre": 1, "offset": 2, "large": 1, "name": len(CONFIG.names) + 1, "color": len(COLORS),
             "word": len(WORDS) + 1, "digits": 3 * DIGITS}
    told = {name: torch.zeros(49, n) for name, n in sizes.items()}
    told["centre"] -= SURE
    for thing, sight in zip(scene.things, sights(scene), strict=True):
        cell = 7 * sight.cell[0] + sight.cell[1]
        told["centre"][cell] = SURE
        told["offset"][cell] = torch.tensor([thing.x, thing.y]) / CELL - middles()[cell]
        told["large"][cell] = SURE if thing.size == "large" else -SURE
        name = len(CONFIG.names) if thing.kind == "sign" else CONFIG.names.index(thing.name)
        put(told["name"], cell, name)
        if thing.kind == "shape":
            put(told["color"], cell, list(COLORS).index(thing.color))
        if thing.text:
            number = thing.text.isdigit()
            put(told["word"], cell, len(WORDS) if number else WORDS.index(thing.text.lower()))
            digits = told["digits"].view(49, 3, DIGITS)
            for place, digit in enumerate(thing.text.rjust(3) if number else "   "):
                put(digits[:, place], cell, 0 if digit == " " else int(digit) + 1)
    told["background"] = torch.zeros(len(COLORS))
    told["background"][list(COLORS).index(scene.background.color)] = SURE
    return told


@pytest.fixture
def finder() -> Finder:
    torch.manual_seed(0)
    return Finder(CONFIG).eval()


def test_where_the_truth_is_claimed_the_notes_are_those_of_lessons(finder):
    signs = 0
    for seed in range(300):
        scene = sample_scene(random.Random(seed), "dev")
        scene.background.kind = "flat"  # stripes are not told
        found = finder.found(told_of(scene))
        assert notes([found]) == scene_notes(scene)
        assert notes([found, found]) == clip_notes([scene, scene])
        signs += "sign that says" in scene_notes(scene)
    assert signs > 20


def claims(*of: tuple[int, float, float, float, float]) -> dict[str, Tensor]:
    """Claims of dogs: (cell, share of a claim, x and y of the centre in pixels, share of large)."""
    told = told_of(Scene("single", sample_scene(random.Random(0), "dev").background, []))
    for cell, share, x, y, large in of:
        told["centre"][cell] = torch.tensor(share).logit()
        told["offset"][cell] = torch.tensor([x, y]) / CELL - middles()[cell]
        told["large"][cell] = torch.tensor(large).logit()
        put(told["name"], cell, CONFIG.names.index("dog"))
    return told


def test_two_cells_that_share_a_thing_claim_one(finder):
    """Each alone would be too faint; together they are sure, and the centre is between theirs."""
    [dog] = finder.found(claims((0, 0.3, 30, 16, 0.1), (1, 0.3, 36, 16, 0.1))).sights
    assert (dog.one, dog.size) == ("dog", "small") and (dog.x, dog.y) == pytest.approx((33, 16))
    assert not finder.found(claims((0, 0.3, 30, 16, 0.1))).sights


def test_neighbours_with_centres_of_their_own_are_two(finder):
    far = claims((0, 0.9, 14, 16, 0.1), (1, 0.9, 48, 16, 0.1))
    assert len(finder.found(far).sights) == 2
    large = claims((0, 0.9, 20, 16, 0.9), (1, 0.9, 48, 16, 0.9))  # a large thing has no room for two
    assert [sight.size for sight in finder.found(large).sights] == ["large"]


def test_a_batch_is_its_pictures_and_weights_come_back(finder, tmp_path):
    tokens = torch.randn(3, 49, 16)
    told = finder(tokens)
    assert told["centre"].shape == (3, 49, 1) and told["background"].shape == (3, len(COLORS))
    assert finder.find(tokens) == [finder.find(row[None])[0] for row in tokens]
    finder.save_pretrained(tmp_path, dtype=torch.int8)
    loaded = Finder.from_pretrained(tmp_path)
    assert loaded.config == finder.config
    for name, logits in loaded(tokens).items():
        torch.testing.assert_close(logits, told[name], rtol=0.05, atol=0.05)


def test_the_words_for_what_a_picture_shows_are_those_that_tell_of_things():
    things = [
        Sight("red ring", "red rings", "small", 9.0, 9.0),
        Sight("bunch of grapes", "bunches of grapes", "large", 99.0, 9.0),
        Sight("sign that says stop", "signs that says stop", "", 200.0, 99.0),
    ]
    told = {"red", "ring", "rings", "bunch", "bunches", "grapes", "sign", "signs", "stop"}
    assert Found("white", things).words == told and Found("white", []).words == set()
