"""Speaking: streaming equal to the whole, also of a text being written; loudness; clear refusals.

Random weights: the sound means nothing, its length and its samples do.
"""

import numpy as np
import pytest
import torch

from inference import speech
from inference.loudness import LOUDNESS, PEAK, Loudness
from inference.normalisation import normalise
from inference.speech import Speaker
from inference.synthesis import CHUNK, in_chunks
from models.codec import CodecConfig, MelCodec
from models.errors import UserError
from models.frontend import Frontend, FrontendConfig
from models.griffinlim import griffin_lim
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
@torch.inference_mode()
def test_stream_equals_whole(speaker, vocoder):
    text = "Hello there. How are you? 12!"
    whole, rate = speaker.speak(text, vocoder=vocoder, seed=1)
    chunks = list(speaker.speak_stream(text, vocoder=vocoder, seed=1))
    assert rate == 16000 and len(chunks) >= 3
    assert np.array_equal(np.concatenate(chunks), whole)
    voice, parts = speaker.voices[0], []
    for sentence in "Hello there.", "How are you?", "12!":
        ready = speaker.frontend(normalise(sentence), voice)
        codes, _ = speaker.talker.generate(ready.script, ready.seconds, speech.TEMPERATURE, 1)
        mel = speaker.codec.decode(codes)
        made = speaker.vocoder(mel) if vocoder == "neural" else griffin_lim(mel, seed=1)
        parts.append(speaker.loudness(voice).level(made[0].numpy()))
    assert np.abs(np.concatenate(parts) - whole).max() < 1e-3 * PEAK
    assert whole.dtype == np.float32 and np.abs(whole).max() <= PEAK + 1e-6


@torch.inference_mode()
def test_chunks_of_a_sentence_equal_one_call_of_each_network(speaker):
    text = "One long sentence of many words, so that it is made in more than one chunk."
    chunks = list(speaker.sounds(text, "emma", seed=2))
    ready = speaker.frontend(normalise(text), "emma")
    codes, _ = speaker.talker.generate(ready.script, ready.seconds, speech.TEMPERATURE, 2)
    mel = speaker.codec.decode(codes)
    whole = speaker.vocoder(mel)[0].numpy()
    assert len(chunks) > 1
    assert np.abs(np.concatenate(chunks) - whole).max() < 1e-3 * np.abs(whole).max()


def test_first_chunk_does_not_wait_for_the_sentence(speaker, monkeypatch):
    made = []
    frames = speaker.talker.stream

    def counted(*args):
        for frame in frames(*args):
            made.append(frame)
            yield frame

    monkeypatch.setattr(speaker.talker, "stream", counted)
    sounds = speaker.sounds("many words " * 12, "fenrir")
    first = next(sounds)
    early = len(made)
    rest = sum(map(len, sounds))
    assert len(first) > 0 and early < len(made) / 2
    assert len(first) + rest == 640 * len(made)


def test_a_text_is_spoken_while_it_is_written(speaker):
    written = []

    def pieces():
        for piece in ["Hello", " there.", " How", " are", " you?", " I am", " fine."]:
            written.append(piece)
            yield piece

    stream = speaker.speak_stream(pieces(), seed=1)
    first = next(stream)
    assert len(written) == 3  # the first word of the next sentence ends the first
    heard = np.concatenate([first, *stream])
    assert np.array_equal(heard, speaker.speak("Hello there. How are you? I am fine.", seed=1)[0])


def test_in_chunks_keeps_every_frame():
    frames = [torch.full((1, 4), i) for i in range(2 * CHUNK + 10)]
    chunks = list(in_chunks(frames))
    assert [c.shape[1] for c in chunks] == [CHUNK, CHUNK, 10]
    assert torch.equal(torch.cat(chunks, 1), torch.stack(frames, 1))


def test_same_seed_same_speech(speaker):
    first, _ = speaker.speak("Hello.", seed=3)
    assert np.array_equal(first, speaker.speak("Hello.", seed=3)[0])
    assert not np.array_equal(first, speaker.speak("Hello.", seed=4)[0])
    assert np.array_equal(speaker.speak("Hello.")[0], speaker.speak("Hello.")[0])


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
    whole, _ = speaker.speak("Hello.\n\n!!!\n\n🙂\nBye.")
    assert np.array_equal(whole, speaker.speak("Hello.\nBye.")[0])


@pytest.mark.parametrize("words", [1, 7, 40])
def test_speech_is_as_long_as_its_phones(speaker, words):
    text = " ".join(["seven", "apples", "under", "it"][i % 4] for i in range(words))
    seconds = float(speaker.frontend(normalise(text), "fenrir").seconds.sum())
    made = sum(map(len, speaker.sounds(text, "fenrir"))) / 16000
    assert abs(made - seconds) <= 0.04  # one code frame: it neither loops nor stops early


def test_loudness_is_even_and_never_clips():
    tone = np.sin(np.arange(16000) / 10).astype(np.float32)
    quiet, loud = (Loudness.of(tone * size).level(tone * size) for size in (0.01, 0.9))
    assert np.abs(quiet - loud).max() < 1e-2
    assert np.sqrt(np.mean(loud**2)) == pytest.approx(LOUDNESS, rel=0.1)
    assert np.abs(Loudness(0.0, 9.0).level(tone)).max() <= PEAK + 1e-6
    assert not Loudness.of(np.zeros(100, np.float32)).level(np.zeros(100, np.float32)).any()
    assert Loudness.of(np.zeros(0, np.float32)).gain == 1.0
