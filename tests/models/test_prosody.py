"""Prosody: durations and pitch are learnt, marks matter, a batch equals its rows."""

import torch

from models.phones import MARKS
from models.prosody import ProsodyConfig, ProsodyModel, octaves

SMALL = ProsodyConfig(hidden_size=32, num_layers=1, num_heads=2)


def drawn(count: int, seed: int) -> list[torch.Tensor]:
    """phones, starts, marks (1, count) and voice (1,)."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randint(1, high, (1, count), generator=generator) for high in (58, 2, 4)]
    return [*rows, torch.tensor([seed % 4])]


def test_a_batch_equals_its_rows():
    model = ProsodyModel(SMALL).eval()
    long, short = drawn(9, 1), drawn(5, 2)
    both = zip(long[:3], short[:3], strict=True)
    padded = [torch.cat([a, torch.nn.functional.pad(b, (0, 4))]) for a, b in both]
    seconds, hertz = model.predict(*padded, torch.cat([long[3], short[3]]))
    for row, said, count in ((0, long, 9), (1, short, 5)):
        alone = model.predict(*said)
        torch.testing.assert_close(seconds[row, :count], alone[0][0])
        torch.testing.assert_close(hertz[row, :count], alone[1][0])
    assert (seconds[1, 5:] == 0).all()


def test_questions_are_learnt_to_rise():
    """Pitch of the last phone depends on the mark alone: it is learnt, and marks swapped undo it."""
    torch.manual_seed(0)
    model = ProsodyModel(SMALL)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    question, period = MARKS.index("?"), MARKS.index(".")

    def batch(seed: int) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        phones = torch.randint(2, 58, (16, 6), generator=generator)
        asked = torch.rand(16, 1, generator=generator) < 0.5
        marks = torch.where(asked, question, period).expand(16, 6)
        hertz = torch.full((16, 6), 150.0)
        hertz[:, -1:] = torch.where(asked, 250.0, 110.0)
        zeros = torch.zeros_like(phones)
        return [phones, zeros, marks, zeros[:, 0]], torch.full((16, 6), 0.1), hertz

    for step in range(500):
        said, seconds, hertz = batch(step)
        duration, pitch = model.loss(*said, seconds, hertz)
        optimizer.zero_grad()
        (duration + pitch).backward()
        optimizer.step()
    said, seconds, hertz = batch(1000)
    made_seconds, made = model.eval().predict(*said)
    assert (octaves(made) - octaves(hertz)).abs().mean() < 0.15
    assert (octaves(made[:, -1]) - octaves(hertz[:, -1])).abs().mean() < 0.2
    assert (made_seconds - seconds).abs().mean() < 0.02
    swapped = [said[0], said[1], question + period - said[2], said[3]]
    other = model.predict(*swapped)[1]
    assert (octaves(other[:, -1]) - octaves(hertz[:, -1])).abs().mean() > 0.8


def test_speed_shortens_and_keeps_the_pitch():
    model = ProsodyModel(SMALL).eval()
    (slow, low), (fast, high) = (model.predict(*drawn(9, 1), speed=s) for s in (0.8, 1.6))
    torch.testing.assert_close(slow, 2 * fast)
    torch.testing.assert_close(low, high)
