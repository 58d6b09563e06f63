"""Speaking: sentences, streaming equal to the whole, loudness, clear refusals. Random weights."""

import numpy as np
import pytest
import torch

from inference.speech import PEAK, Speaker, level, split_sentences
from models.codec import CodecConfig, MelCodec
from models.errors import UserError
from models.frontend import Frontend, FrontendConfig
from models.talker import Talker, TalkerConfig
from models.vocoder import Vocoder, VocoderConfig


@pytest.fixture(scope="module")
def speaker() -> Speaker:
    torch.manual_seed(0)
    codec = CodecConfig(hidden_size=32, intermediate_size=64, num_layers=1, codebook_size=64)
    talker = TalkerConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        intermediate_size=64,
        encoder_size=32,
        encoder_layers=1,
        codebook_size=64,
    )
    vocoder = VocoderConfig(hidden_size=32, intermediate_size=64, num_layers=1)
    frontend = Frontend(FrontendConfig())
    return Speaker(frontend, Talker(talker), MelCodec(codec), Vocoder(vocoder))


@pytest.mark.parametrize("vocoder", ["neural", "griffinlim"])
def test_stream_equals_whole(speaker, vocoder):
    text = "Hello there. How are you? 12!"
    whole, rate = speaker.speak(text, vocoder=vocoder, seed=1)
    chunks = list(speaker.speak_stream(text, vocoder=vocoder, seed=1))
    assert rate == 16000 and len(chunks) == 3
    assert np.array_equal(np.concatenate(chunks), whole)
    assert whole.dtype == np.float32 and np.abs(whole).max() <= PEAK + 1e-6


def test_same_seed_same_speech(speaker):
    first, _ = speaker.speak("Hello.", seed=3)
    assert np.array_equal(first, speaker.speak("Hello.", seed=3)[0])


def test_speed(speaker):
    slow, fast = (len(speaker.speak("Hello there.", speed=s)[0]) for s in (0.7, 1.4))
    assert slow == pytest.approx(2 * fast, rel=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {"text": ""},
        {"text": "?!"},
        {"text": "Hi", "voice": "bob"},
        {"text": "Hi", "vocoder": "tape"},
        {"text": "Hi", "speed": 0.0},
    ],
)
def test_clear_refusals(speaker, settings):
    with pytest.raises(UserError):
        speaker.speak(**settings)


def test_parts_that_cannot_be_said_are_passed_over(speaker):
    assert len(list(speaker.speak_stream("Hello.\n\n!!!\n\n🙂\nBye."))) == 2


def test_split_sentences():
    assert split_sentences("Dr. Who came. He left! Why?") == ["Dr. Who came.", "He left!", "Why?"]
    assert split_sentences("one\ntwo") == ["one", "two"]
    assert all(len(piece) <= 240 for piece in split_sentences("word " * 200))
    assert "".join(split_sentences("x" * 1000)) == "x" * 1000


def test_level_is_even_and_never_clips():
    tone = np.sin(np.arange(16000) / 10).astype(np.float32)
    assert np.abs(level(tone * 0.01) - level(tone * 0.9)).max() < 1e-2
    spike = np.zeros(1000, np.float32)
    spike[5] = 4.0
    assert np.abs(level(spike)).max() <= PEAK + 1e-6
    assert not level(np.zeros(100, np.float32)).any()
