"""Pictures of a fixed encoder are encoded once, and read as if they were encoded each time."""

from functools import partial

import torch

from data.scenes.build import jpeg
from models.omni import OmniModel
from tests.inference.conftest import picture as drawn
from training.media import picture
from training.objectives.omni import OmniTask
from training.packing import pack_samples, stack_media
from training.remembered import Remembered

FILES = [jpeg(drawn(i)) for i in range(5)]


class Counting(torch.nn.Module):
    """An encoder that counts the pictures it is given."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.count = 0

    def forward(self, pixels):
        self.count += len(pixels)
        return self.weight * pixels.flatten(2)[:, :, :50].transpose(1, 2).float()  # (N, 50, 3)


def test_each_picture_is_encoded_once_and_comes_back_in_order():
    remembered = Remembered(Counting())
    for files in ([FILES[0], FILES[1], FILES[0]], FILES[::-1], FILES):
        wanted = Counting()(torch.stack([picture(file) for file in files]))
        given = remembered(files)
        assert torch.equal(given, wanted) and not given.requires_grad
    assert remembered.encoder.count == len(FILES)


def test_a_picture_is_encoded_alike_in_any_company(nano_omni_dir):
    """A run that was stopped has another company of new pictures than one that was not."""
    vision = OmniModel.from_pretrained(nano_omni_dir).vision.eval()
    first = Remembered(vision)
    first(FILES[:1])
    assert torch.equal(first(FILES[:3]), Remembered(vision)(FILES[:3]))


def test_the_oldest_are_forgotten():
    remembered = Remembered(Counting(), room=3)
    remembered(FILES)
    assert len(remembered.tokens) == 3
    remembered(FILES[2:])
    assert remembered.encoder.count == 5
    remembered(FILES[:1])
    assert remembered.encoder.count == 6


def test_the_joint_loss_and_its_gradients_are_those_of_pixels(nano_omni_dir):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    sample = {"ids": [1, *[omni.image_token] * 50, 5, 6, 7], "images": FILES[:1], "sounds": []}
    sample["targets"] = [-100] * 51 + [5, 6, 7]
    other = sample | {"images": FILES[1:2]}
    found = []
    for encoded in (True, False):
        task = OmniTask(omni, ["vision.", "audio."])
        task.zero_grad()
        batch, samples = pack_samples([sample, other], 3)
        loss = task(batch | stack_media(samples, encoded))
        loss.total.backward()
        found.append((loss.total.detach(), [p.grad.clone() for p in omni.vision_projector.parameters()]))
        assert all(p.grad is None for p in omni.vision.parameters())
    (one, its), (two, theirs) = found
    near = partial(torch.allclose, rtol=1e-4, atol=1e-5)  # a picture alone, and two at once
    assert near(one, two) and all(map(near, its, theirs))
