"""Vocoder and Griffin-Lim: the right length, streaming equal to the whole, sound that comes back."""

import pytest
import torch

from models.errors import UserError
from models.frames import overlap_add
from models.griffinlim import griffin_lim
from models.mel import HOP, SAMPLE_RATE, log_mel, mel_filters, window
from models.vocoder import Vocoder, VocoderConfig, bin_from_mel

SMALL = VocoderConfig(hidden_size=32, intermediate_size=64, num_layers=2)


def tone(seconds: float = 1.0) -> torch.Tensor:
    """A chord that swells. (1, samples)"""
    t = torch.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    chord = sum(torch.sin(2 * torch.pi * f * t) for f in (220.0, 447.0, 903.0, 1810.0))
    return (0.1 * chord * torch.sin(torch.pi * t / seconds))[None]


def test_length_follows_the_hop():
    mel = log_mel(tone())
    assert Vocoder(SMALL)(mel).shape == (1, mel.shape[-1] * HOP)
    assert griffin_lim(mel, 4).shape == (1, mel.shape[-1] * HOP)


def test_parameter_budget():
    assert sum(p.numel() for p in Vocoder(VocoderConfig()).parameters()) <= 1_300_000


@pytest.mark.parametrize("chunk", [1, 7, 30, 500])
def test_stream_equals_whole(chunk):
    torch.manual_seed(0)
    vocoder = Vocoder(SMALL).eval()
    mel = log_mel(tone())
    with torch.no_grad():
        whole = vocoder(mel)
    streamed = torch.cat(list(vocoder.stream(mel.split(chunk, -1))), -1)
    torch.testing.assert_close(streamed, whole, atol=1e-5, rtol=1e-4)


def test_batch_equals_single():
    vocoder = Vocoder(SMALL).eval()
    mel = torch.cat([log_mel(tone()), log_mel(tone()) - 1])
    with torch.no_grad():
        torch.testing.assert_close(vocoder(mel)[1:], vocoder(mel[1:]), atol=1e-5, rtol=1e-4)


def test_overlap_add_undoes_the_stft():
    wave, window = tone(), torch.hann_window(640)
    spectrum = torch.stft(wave, 640, HOP, 640, window, return_complex=True)[..., :-1]
    made = overlap_add(spectrum, window)
    torch.testing.assert_close(made[:, :-640], wave[:, :-640], atol=1e-4, rtol=0)


def test_griffin_lim_keeps_the_mel():
    mel = log_mel(tone())
    back = log_mel(griffin_lim(mel, 32))
    loud = mel > -3
    assert (back - mel)[loud].abs().mean() < 0.35


def test_griffin_lim_is_deterministic():
    mel = log_mel(tone(0.3))
    assert torch.equal(griffin_lim(mel, 4, seed=3), griffin_lim(mel, 4, seed=3))


def test_trains_after_an_answer_was_given():
    """Tables kept from inference mode would stop training in the same process."""
    for kept in (bin_from_mel, mel_filters, window):
        kept.cache_clear()
    with torch.inference_mode():
        tables = [bin_from_mel(640, 128), mel_filters(), window()]
    assert not any(table.is_inference() for table in tables)


def test_learns():
    torch.manual_seed(0)
    vocoder, wave = Vocoder(SMALL), tone(0.5)
    mel = log_mel(wave)
    optimizer = torch.optim.AdamW(vocoder.parameters(), 2e-3)
    errors = []
    for _ in range(30):
        error = (log_mel(vocoder(mel)) - mel).abs().mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        errors.append(float(error.detach()))
    assert errors[-1] < 0.8 * errors[0]


def test_wrong_mel_is_a_clear_error():
    with pytest.raises(UserError, match="expected"):
        Vocoder(SMALL)(torch.zeros(1, 80, 4))
