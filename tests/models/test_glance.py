"""The glance: folding its norms changes nothing, and it speaks only of photographs it knows."""

from dataclasses import replace

import torch
from models.glance import Glance, GlanceConfig, shrink

NAMES = ["cat", "fox", "palm tree"]


def trained_norms() -> Glance:
    """A small glance with norms as training leaves them, none of them at its start."""
    torch.manual_seed(0)
    glance = Glance(GlanceConfig([8, 8, 16], hidden_size=12, names=NAMES, folded=False))
    torch.nn.init.normal_(glance.words)
    for norm in [m for m in glance.modules() if isinstance(m, torch.nn.BatchNorm2d)]:
        torch.nn.init.normal_(norm.weight, 1.0, 0.3)
        torch.nn.init.normal_(norm.bias)
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2.0)
    return glance.eval()


def pictures(count: int) -> torch.Tensor:
    return torch.randint(0, 256, (count, 3, 224, 224), dtype=torch.uint8)


@torch.no_grad()
def test_folded_norms_change_nothing(tmp_path):
    glance = trained_norms()
    pixels = pictures(2)
    glance.fold().save_pretrained(tmp_path, dtype=torch.float32)
    kept = Glance.from_pretrained(tmp_path)
    assert kept.config.folded and kept.config.names == NAMES
    shares = glance.probabilities(pixels)
    torch.testing.assert_close(kept.probabilities(pixels), shares, rtol=1e-4, atol=1e-5)
    moved = trained_norms()
    moved.looks[0].enter.norm.running_mean += 1.0  # the control: it is not left out
    assert not torch.allclose(moved.fold().probabilities(pixels), shares, atol=1e-3)


@torch.no_grad()
def test_unfolded_norms_change_nothing_and_can_be_folded_again():
    folded, small = trained_norms().fold(), 255 * torch.rand(6, 3, 32, 32)
    again = folded.unfold(small)
    wanted = folded.looks[0](small)
    torch.testing.assert_close(again.train().looks[0](small), wanted, rtol=1e-4, atol=1e-4)
    other = again.train().looks[0](255 - small)  # the control: norms follow the batch
    assert not torch.allclose(other, folded.looks[0](255 - small), atol=1e-3)
    unfolded = folded.unfold(small).eval()
    torch.testing.assert_close(unfolded.fold().looks[0](small), wanted, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_a_mirrored_photograph_shows_the_same():
    glance, pixels = trained_norms(), pictures(1)
    shares = glance.probabilities(pixels)
    torch.testing.assert_close(glance.probabilities(pixels.flip(3)), shares)
    assert not torch.allclose(glance.probabilities(pixels.flip(2)), shares, atol=1e-4)


@torch.no_grad()
def test_several_looks_say_their_mean(tmp_path):
    one, pixels = trained_norms().fold(), pictures(2)
    other = trained_norms().fold()
    for p in other.parameters():
        p.add_(0.1 * torch.randn_like(p))
    both = Glance(replace(one.config, looks=2)).eval()
    for look, alone in zip(both.looks, (one, other), strict=True):
        look.load_state_dict(alone.looks[0].state_dict())
    apart = [one.probabilities(pixels), other.probabilities(pixels)]
    assert not torch.allclose(*apart, atol=1e-2)
    torch.testing.assert_close(both.probabilities(pixels), sum(apart) / 2)
    both.save_pretrained(tmp_path, dtype=torch.float32)
    kept = Glance.from_pretrained(tmp_path)
    assert kept.config.looks == 2
    torch.testing.assert_close(kept.probabilities(pixels), both.probabilities(pixels))


@torch.no_grad()
def test_what_is_no_photograph_is_left_to_the_eyes():
    glance, pixels, seen = trained_norms(), pictures(2), torch.randn(2, 49, 12)
    torch.nn.init.zeros_(glance.looks[0].head.weight)
    glance.looks[0].head.bias.copy_(torch.tensor([30.0, 0, 0, 0]))
    assert torch.equal(glance(pixels, seen), seen)
    glance.looks[0].head.bias.copy_(torch.tensor([0.0, 0, 30, 0]))
    torch.testing.assert_close(glance(pixels, seen), glance.words[1].expand(2, 49, -1))


def test_shrinking_keeps_the_mean_of_each_square():
    pixels = torch.zeros(1, 3, 224, 224, dtype=torch.uint8)
    pixels[:, :, 7:14, :7] = 70
    small = shrink(pixels)
    assert small.shape == (1, 3, 32, 32)
    assert small[0, 0, 1, 0] == 70 and small.sum() == 3 * 70
