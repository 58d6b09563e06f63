"""Discriminators: they tell a tone from noise after a few steps, and a frozen one still guides."""

import torch

from models.discriminator import (
    Discriminators,
    discriminator_loss,
    feature_matching,
    generator_loss,
)
from models.mel import log_mel
from models.vocoder import VocoderConfig
from training.objectives.vocoder import (
    ADVERSARY_WEIGHT,
    FEATURE_WEIGHT,
    MEL_WEIGHT,
    SPECTRA_WEIGHT,
    VocoderTask,
)


def waves(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tones and noise, (4, 4000) each."""
    generator = torch.Generator().manual_seed(seed)
    hertz = 100 + 300 * torch.rand(4, 1, generator=generator)
    tones = 0.3 * torch.sin(2 * torch.pi * hertz * torch.arange(4000) / 16_000)
    return tones, 0.2 * torch.randn(4, 4000, generator=generator)


def test_real_and_made_are_told_apart():
    torch.manual_seed(0)
    judges = Discriminators((8, 16), (8, 16), periods=(2, 3), resolutions=((256, 64),))
    optimizer = torch.optim.AdamW(judges.parameters(), 5e-3)
    for step in range(100):
        tones, noise = waves(step)
        loss = discriminator_loss(judges(tones)[0], judges(noise)[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tones, noise = waves(1000)
    real, made = judges(tones)[0], judges(noise)[0]
    assert discriminator_loss(real, made) < 1.0 < 2.5 < discriminator_loss(made, real)
    assert generator_loss(made) > generator_loss(real) + 1


def test_features_of_a_wave_match_its_own():
    judges = Discriminators((8,), (8,), periods=(2,), resolutions=((256, 64),))
    tones, noise = waves(0)
    own = feature_matching(judges(tones)[1], judges(tones)[1])
    assert own == 0 and feature_matching(judges(tones)[1], judges(noise)[1]) > 0.1


def test_widths_and_kinds_are_those_asked_for():
    judges = Discriminators(periods=(2, 3, 5), resolutions=())
    assert len(judges.judges) == 3
    scores, seen = judges(torch.zeros(2, 1001))
    assert len(scores) == 3 and all(len(score) == 2 for score in scores)
    assert [len(layers) for layers in seen] == [4, 4, 4]


def test_one_backward_pass_serves_both_sides():
    """Discriminators learn from the made wave detached, the vocoder through them frozen."""
    torch.manual_seed(0)
    task = VocoderTask(VocoderConfig(hidden_size=16, intermediate_size=32, num_layers=1))
    tones = waves(0)[0][:, :3840]
    batch = {"wave": tones, "mel": log_mel(tones), "adversary": True}
    made = task.vocoder(batch["mel"])
    judged = task.judge(made, tones)
    ours, theirs = list(task.vocoder.parameters()), list(task.discriminators.parameters())
    assert all(p.requires_grad for p in theirs)
    for name, learn, stay in (("discriminator", theirs, ours), ("adversary", ours, theirs),
                              ("features", ours, theirs)):
        grads = torch.autograd.grad(judged[name], learn, retain_graph=True, allow_unused=True)
        assert any(g is not None and g.abs().max() > 0 for g in grads), name
        unused = torch.autograd.grad(judged[name], stay, retain_graph=True, allow_unused=True)
        assert all(g is None for g in unused), name
    assert task(batch).logs.keys() == {"spectra", "mel", "discriminator", "adversary", "features"}
    assert task(batch | {"adversary": False}).logs.keys() == {"spectra", "mel"}


def test_the_loss_weighs_every_part_and_teaches_the_discriminators():
    torch.manual_seed(0)
    task = VocoderTask(VocoderConfig(hidden_size=16, intermediate_size=32, num_layers=1)).eval()
    tones = waves(0)[0][:, :3840]
    loss = task({"wave": tones, "mel": log_mel(tones), "adversary": True})
    logs = loss.logs
    wanted = SPECTRA_WEIGHT * (logs["spectra"] + MEL_WEIGHT * logs["mel"]) + logs["discriminator"]
    wanted += ADVERSARY_WEIGHT * logs["adversary"] + FEATURE_WEIGHT * logs["features"]
    torch.testing.assert_close(loss.total.detach(), wanted)
    optimizer = torch.optim.SGD(task.discriminators.parameters(), 1e-3)
    loss.total.backward()
    optimizer.step()
    after = task({"wave": tones, "mel": log_mel(tones), "adversary": True}).logs
    assert after["discriminator"] < logs["discriminator"]
