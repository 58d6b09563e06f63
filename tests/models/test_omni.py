"""Encoders and fusion: shapes, contracts and what goes where."""

from pathlib import Path

import pytest
import torch
from PIL import Image

from models.audio import AudioConfig, AudioEncoder, audio_tokens
from models.image import image_to_tensor
from models.mel import HOP, SILENCE, log_mel, mel_filters
from models.omni import OmniModel
from models.resnet import shrink
from models.vision import VisionConfig, VisionEncoder

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints" / "omni_sft_tiny"
NANO = {"num_heads": 2, "num_kv_heads": 1, "head_dim": 16, "intermediate_size": 48}


@torch.no_grad()
def test_a_picture_is_50_tokens_of_uint8_pixels_only():
    encoder = VisionEncoder(VisionConfig(hidden_size=32, num_layers=1, stem_size=8, **NANO))
    pixels = torch.randint(0, 256, (2, 3, 224, 224), dtype=torch.uint8)
    assert encoder(pixels).shape == (2, 50, 32)
    with pytest.raises(TypeError, match="uint8"):
        encoder(pixels.float())  # scaled twice would look almost right
    with pytest.raises(ValueError, match="224"):
        encoder(pixels[..., :100])


@torch.no_grad()
def test_the_global_token_sees_the_whole_and_a_batch_is_as_one_by_one():
    encoder = VisionEncoder(VisionConfig(hidden_size=32, num_layers=1, stem_size=8, **NANO)).eval()
    pixels = torch.randint(0, 256, (3, 3, 224, 224), dtype=torch.uint8)
    whole = encoder(pixels)[:, -1]  # (3, 32)
    torch.testing.assert_close(whole, encoder.global_token(shrink(pixels)))
    torch.testing.assert_close(encoder(pixels[1:2])[:, -1], whole[1:2], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(encoder.train()(pixels[1:2])[:, -1], whole[1:2], atol=1e-3)  # batch norm


def test_pictures_of_every_mode_become_upright_rgb_on_white():
    for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "LA"):
        assert image_to_tensor(Image.new(mode, (30, 20))).shape == (3, 224, 224)
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert image_to_tensor(clear).min() == 255


@pytest.fixture(scope="module")
def shipped_audio() -> AudioEncoder:
    """With its layers at 25 Hz and its convolutions, as it is used."""
    encoder = AudioEncoder.from_pretrained(SHIPPED, "audio").eval()
    assert encoder.config.fast_layers and encoder.config.kernel
    return encoder


@pytest.mark.parametrize("frames", [1, 7, 8, 33, 66])
@torch.no_grad()
def test_a_clip_alone_is_encoded_as_in_a_batch(frames, shipped_audio):
    torch.manual_seed(0)
    mel = torch.randn(1, 128, frames)
    batch = torch.randn(2, 128, 100)  # what lies beyond a clip's end must not matter
    batch[1, :, :frames] = mel
    alone = shipped_audio(mel, torch.tensor([frames]))
    assert alone.shape == (1, audio_tokens(frames), shipped_audio.config.hidden_size)
    together = shipped_audio(batch, torch.tensor([100, frames]))[1, : audio_tokens(frames)]
    assert torch.allclose(alone[0], together, atol=1e-3)


@torch.no_grad()
def test_order_of_sounds_is_encoded():
    torch.manual_seed(0)
    encoder = AudioEncoder(AudioConfig(hidden_size=32, num_layers=2, conv_size=16, **NANO)).eval()
    sound, pause = torch.randn(1, 128, 8), torch.zeros(1, 128, 24)
    twice = torch.cat([pause, sound, pause, sound, pause], 2)  # the same, early and late
    early, late = encoder(twice, torch.tensor([88]))[0, [3, 7]]
    assert not torch.allclose(early, late, atol=1e-2)  # equal without positions


def test_mel_has_a_frame_every_10_ms_and_no_dead_bin():
    assert log_mel(torch.zeros(2, 16_000)).shape == (2, 128, 100)
    assert log_mel(torch.zeros(159)).shape == (128, 0)
    assert float(log_mel(torch.zeros(HOP)).max()) == pytest.approx(SILENCE, abs=1e-3)
    assert bool((mel_filters().sum(1) > 0.5).all())


@torch.no_grad()
def test_media_take_their_own_places(nano_omni_dir):
    omni = OmniModel.from_pretrained(nano_omni_dir)
    image, sound, word = omni.image_token, omni.audio_token, 20
    ids = torch.tensor([[word, *[image] * 50, word, *[sound] * 3, *[image] * 50, word]])
    pictures = torch.randn(2, 50, 64)
    clip = torch.randn(3, 64)
    x = omni.fuse(ids, pictures, [clip])
    assert torch.equal(x[0, 1:51], pictures[0])
    assert torch.equal(x[0, 52:55], clip)
    assert torch.equal(x[0, 55:105], pictures[1])
    assert torch.equal(x[0, [0, 51, 105]], omni.thinker.embed(torch.tensor([word] * 3)))
    with pytest.raises(ValueError, match="image"):
        omni.fuse(ids, pictures[:1], [clip])
    with pytest.raises(ValueError, match="audio"):
        omni.fuse(ids, pictures)
