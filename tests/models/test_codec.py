"""The codec: shapes, straight-through gradient, codebooks that move and stay in use."""

import pytest
import torch

from models.codec import CodecConfig, MelCodec
from models.errors import UserError
from models.quantizer import ResidualQuantizer, nearest, perplexity

SMALL = CodecConfig(
    hidden_size=32, intermediate_size=64, num_layers=1, codebook_size=32, codebook_dim=16
)


def voices(count: int, frames: int = 48) -> torch.Tensor:
    """Mels that look like something: smooth random shapes. (count, 128, frames)"""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.randn(count, 1, 8, frames // 4, generator=generator) * 2
    return torch.nn.functional.interpolate(coarse, (128, frames), mode="bilinear")[:, 0] - 5


def train(codec: MelCodec, mel: torch.Tensor, steps: int) -> list[float]:
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(codec.parameters(), 3e-3)
    losses = []
    for _ in range(steps):
        made, quantized = codec(mel)
        loss = (made - mel).abs().mean() + 0.25 * quantized.commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def test_shapes_and_round_trip_of_codes():
    codec = MelCodec(CodecConfig()).eval()
    codes = codec.encode(voices(2, 50))  # 50 frames: two are short of a code frame
    assert codes.shape == (2, 12, 8) and codes.dtype == torch.int64
    assert codec.decode(codes).shape == (2, 128, 48)
    assert codec.from_codes(codes).shape == (2, 12, 64)
    assert codec.config.frame_rate == 25 and codec.config.bitrate == 2000


def test_parameter_budget():
    assert sum(p.numel() for p in MelCodec(CodecConfig()).state_dict().values()) <= 1_700_000


def test_encode_equals_the_training_pass():
    codec = MelCodec(SMALL).eval()
    mel = voices(2)
    with torch.no_grad():
        made, quantized = codec(mel)
    assert torch.equal(codec.encode(mel), quantized.codes)
    torch.testing.assert_close(codec.decode(quantized.codes), made, atol=1e-4, rtol=1e-4)


def test_encoder_gets_gradient_through_the_quantiser():
    codec = MelCodec(SMALL).train()
    made, _ = codec(voices(4))  # reconstruction alone, no commitment loss
    made.sum().backward()
    assert codec.enter.weight.grad.abs().sum() > 0


def test_commitment_alone_teaches_the_encoder():
    codec = MelCodec(SMALL).train()
    _, quantized = codec(voices(4))
    quantized.commitment.backward()
    assert codec.enter.weight.grad.abs().sum() > 0


def test_some_examples_keep_only_the_first_codebooks_in_training():
    torch.manual_seed(0)
    quantizer = ResidualQuantizer(8, 16, 4, dropout=0.25).train()
    kept = quantizer._kept(torch.zeros(4000, 1, 4))
    assert kept.min() == 1 and kept.max() == 8
    assert 0.19 < float((kept < 8).float().mean()) < 0.25
    assert (quantizer.eval()._kept(torch.zeros(40, 1, 4)) == 8).all()


def test_learns_and_uses_its_codes():
    codec = MelCodec(SMALL).train()
    mel = voices(32)
    losses = train(codec, mel, 120)
    codes = codec.eval().encode(mel)
    assert losses[-1] < 0.6 * losses[0]
    for k in range(4):
        counts = torch.bincount(codes[..., k].flatten(), minlength=32)
        assert float(perplexity(counts)) > 12, f"codebook {k} collapsed"


def test_more_codebooks_fit_better():
    codec = MelCodec(SMALL).train()
    mel = voices(32)
    train(codec, mel, 120)
    codes = codec.eval().encode(mel)
    errors = [float((codec.decode(codes, k) - mel).abs().mean()) for k in (1, 4)]
    assert errors[1] < errors[0]


def test_dead_codes_are_revived():
    torch.manual_seed(0)
    quantizer = ResidualQuantizer(1, 16, 4, dropout=0.0).train()
    x = torch.randn(1, 64, 4)
    quantizer(x)
    quantizer.codebooks[0, 3] = 100.0  # far from everything
    for _ in range(300):
        quantizer(x)
    assert quantizer.codebooks[0, 3].abs().max() < 10


def test_evaluation_leaves_the_codebooks_alone():
    quantizer = ResidualQuantizer(2, 16, 4).eval()
    before = quantizer.codebooks.clone()
    quantizer(torch.randn(2, 8, 4))
    assert torch.equal(before, quantizer.codebooks)


def test_nearest_is_nearest():
    book, x = torch.randn(20, 8), torch.randn(5, 8)
    assert torch.equal(nearest(x, book), torch.cdist(x, book).argmin(-1))


def test_perplexity_of_uniform_and_of_one():
    assert float(perplexity(torch.ones(64))) == pytest.approx(64)
    assert float(perplexity(torch.tensor([9, 0, 0]))) == pytest.approx(1)


def test_wrong_mel_is_a_clear_error():
    with pytest.raises(UserError, match="80 bins"):
        MelCodec(SMALL).latent(torch.zeros(1, 80, 8))


def test_saved_and_loaded(tmp_path):
    codec = MelCodec(SMALL).eval()
    codec.save_pretrained(tmp_path, dtype=torch.float32)
    again = MelCodec.from_pretrained(tmp_path)
    assert torch.equal(codec.encode(voices(1)), again.encode(voices(1)))
