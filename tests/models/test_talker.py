"""The Talker: cached equals uncached, batched equals single, and the phones matter."""

import math

import pytest
import torch
import torch.nn.functional as F

from models.alignment import align
from models.codec import CodecConfig, MelCodec
from models.errors import UserError
from models.frontend import Frontend
from models.talker import Script, Talker, TalkerConfig, draw
from models.vocoder import Vocoder, VocoderConfig
from training.config import load_preset
from training.objectives.talker import frontend_config

SMALL = TalkerConfig(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
    intermediate_size=64, encoder_size=32, encoder_layers=1, depth_size=32, codebook_size=64,
    codebook_dim=8,
)


def make() -> Talker:
    torch.manual_seed(0)
    talker = Talker(SMALL).eval()
    for p in talker.parameters():  # far from the near-silent start, so that a difference shows
        if p.dim() > 1:
            p.data.mul_(4)
    talker.set_codebooks(torch.randn(8, 64, 8))
    return talker


def sentence(count: int, seed: int = 0) -> tuple[Script, torch.Tensor]:
    """What a sentence says, and its seconds, (1, count) each."""
    generator = torch.Generator().manual_seed(seed)
    phones = torch.randint(1, 58, (1, count), generator=generator)
    starts = torch.randint(0, 2, (1, count), generator=generator)
    marks = torch.randint(0, 4, (1, count), generator=generator)
    hertz = 300 * torch.rand(1, count, generator=generator) * starts
    seconds = 0.03 + 0.1 * torch.rand(1, count, generator=generator)
    return Script(phones, starts, marks, hertz, torch.tensor([seed % 3])), seconds


def pad_together(*rows: tuple[Script, torch.Tensor]) -> tuple[Script, torch.Tensor]:
    def pad(tensors):
        return torch.nn.utils.rnn.pad_sequence([x[0] for x in tensors], batch_first=True)

    scripts, seconds = zip(*rows, strict=True)
    columns = list(zip(*(vars(script).values() for script in scripts), strict=True))
    return Script(*map(pad, columns[:4]), torch.cat(columns[4])), pad(seconds)


def test_batch_equals_single():
    talker = make()
    rows = [sentence(9, 1), sentence(15, 2)]
    codes, frames = talker.generate(*pad_together(*rows), temperature=0.7)
    for b, row in enumerate(rows):
        alone, count = talker.generate(*row, temperature=0.7)
        assert frames[b] == count[0]
        assert torch.equal(codes[b, : frames[b]], alone[0])


def test_generation_is_the_trained_function():
    """The greedy codes are the best codes of the teacher-forced pass over themselves."""
    talker, said = make(), sentence(12)
    script, seconds = said
    codes, _ = talker.generate(*said, temperature=0.0)
    logits = talker(script, align(seconds, 0.04), codes)
    best = torch.stack([scores.argmax(-1) for scores in logits], -1)
    assert torch.equal(best, codes)


def test_a_frame_does_not_see_its_own_code():
    talker, (script, seconds) = make(), sentence(12)
    where = align(seconds, 0.04)
    T = int(where.frames[0])
    codes = torch.randint(64, (1, T, 8))
    changed = codes.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 64
    a = talker(script, where, codes)[0]
    b = talker(script, where, changed)[0]
    assert torch.equal(a[:, :6], b[:, :6]) and not torch.equal(a[:, 6], b[:, 6])


def test_a_frame_knows_how_far_it_is_in_its_phone():
    """The middle of the second frame is half a frame into a phone of three."""
    place = align(torch.tensor([[0.04, 0.12]]), 0.04).place[0, 1]
    assert place.tolist() == pytest.approx([1 / 6, 5 / 6, 0.125, 0.625, math.log(3), 0.0], abs=1e-4)


def test_alignment_covers_every_frame():
    seconds = torch.tensor([[0.10, 0.03, 0.055, 0.2, 0.0]])
    where = align(seconds, 0.04)
    assert where.frames.tolist() == [10]  # 0.385 s
    torch.testing.assert_close(where.share.sum(-1), torch.ones(1, 10))
    assert where.share[0, 2].tolist() == pytest.approx([0.5, 0.5, 0, 0, 0], abs=1e-5)
    assert where.share[..., 4].sum() == 0  # padding says nothing


def test_length_is_what_the_durations_say():
    talker, (script, seconds) = make(), sentence(20)
    _, frames = talker.generate(script, seconds)
    assert abs(float(frames[0]) * 0.04 - float(seconds.sum())) <= 0.021


def test_learns_from_the_phones():
    """After a little training the right phones are much better than shuffled ones."""
    torch.manual_seed(0)
    talker = Talker(SMALL)
    talker.set_codebooks(torch.randn(8, 64, 8))
    generator = torch.Generator().manual_seed(1)
    table = torch.randint(64, (58, 8), generator=generator)  # what each phone sounds like
    optimizer = torch.optim.AdamW(talker.parameters(), 1e-2)

    def loss(shuffle: bool, seed: int) -> torch.Tensor:
        draw_from = torch.Generator().manual_seed(seed)
        phones = torch.randint(1, 58, (8, 10), generator=draw_from)
        where = align(torch.full((8, 10), 0.08), 0.04)
        codes = table[phones.repeat_interleave(2, 1)]  # (8, 20, 8)
        given = phones[:, torch.randperm(10, generator=draw_from)] if shuffle else phones
        zeros = torch.zeros(8, dtype=torch.long)
        none = torch.zeros_like(given)
        logits = talker(Script(given, none, none, none, zeros), where, codes)
        return F.cross_entropy(logits[0].flatten(0, 1), codes[..., 0].flatten())

    for step in range(80):
        optimizer.zero_grad()
        loss(False, step).backward()
        optimizer.step()
    with torch.no_grad():
        assert loss(True, 999) > loss(False, 999) + 1.0


def test_noise_is_each_rows_own():
    logits = torch.randn(1, 50)
    noises = [torch.Generator().manual_seed(5) for _ in range(3)]
    assert len(set(draw(logits.repeat(3, 1), 1.0, noises).tolist())) == 1


def test_without_codebooks_it_refuses():
    with pytest.raises(UserError, match="set_codebooks"):
        Talker(SMALL).generate(*sentence(4))


def test_the_speaking_parts_of_the_preset_take_24_mb_at_most():
    """Text front end, Talker, codec and vocoder together, in bf16."""
    preset = load_preset("tiny")
    sizes = dict(preset["talker"]["model"])
    parts = (
        Frontend(frontend_config(sizes.pop("frontend"))), Talker(TalkerConfig(**sizes)),
        MelCodec(CodecConfig(**preset["codec"]["model"])),
        Vocoder(VocoderConfig(**preset["vocoder"]["model"])),
    )
    numbers = sum(tensor.numel() for part in parts for tensor in part.state_dict().values())
    assert 20e6 < 2 * numbers <= 24e6
