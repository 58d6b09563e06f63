"""Files from people's own desks: containers, channels, levels, shapes, damage. One line or an answer."""

import sys
import time

import numpy as np
import pytest
import torch
from PIL import Image

from inference.media import load_audio, load_image, load_video
from inference.omni import VIDEO_QUESTION
from inference.vad import has_speech
from inference.waveform import downmix
from models.errors import UserError
from models.image import image_to_tensor
from models.mel import log_mel
from tests.inference.conftest import speech, tone
from tests.inference.containers import CONTAINERS, RATE, encode, recording
from tests.inference.damage import CASES, SLOW, checkpoint_cases, media_cases, run_all, survive


def likeness(a: np.ndarray, b: np.ndarray) -> float:
    """Largest cross-correlation over all delays, which codecs add; 1 = equal."""
    size = len(a) + len(b)
    both = np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size).conj(), size)  # (size,)
    return float(both.max() / np.sqrt((a**2).sum() * (b**2).sum()))


@pytest.mark.parametrize(("name", "codec", "rate"), CONTAINERS)
def test_containers_are_heard_whatever_they_are_called(name, codec, rate, tmp_path):
    encode(tmp_path / name, codec, rate)
    (tmp_path / name).rename(tmp_path / "x.bin")
    for source in (tmp_path / "x.bin", (tmp_path / "x.bin").read_bytes()):
        heard = load_audio(source)
        assert abs(len(heard) - len(recording())) < RATE // 4
        assert likeness(recording(), heard) > 0.8


@pytest.mark.parametrize("second", [-1.0, -0.9, -0.99, -1.1])
def test_opposed_channels_do_not_cancel(second):
    wave = recording()
    noise = 1e-3 * np.random.default_rng(0).normal(size=len(wave)).astype(np.float32)
    heard = downmix(np.stack([wave, second * wave + noise], 1))
    assert abs(np.corrcoef(heard, wave)[0, 1]) > 0.99
    assert heard.std() > 0.5 * wave.std()


def test_like_and_unlike_channels_are_averaged():
    wave = recording()
    other = np.roll(wave, 9_000)
    assert np.allclose(downmix(np.stack([wave, wave], 1)), wave, atol=1e-6)
    assert np.allclose(downmix(np.stack([wave, other], 1)), (wave + other) / 2, atol=1e-6)


@pytest.mark.parametrize("decibels", [-40, -50, -60])
def test_quiet_speech_is_raised(decibels):
    wave = recording()
    quiet = wave / np.abs(wave).max() * 10 ** (decibels / 20)
    heard = load_audio((quiet, RATE))
    assert heard.std() > 0.01
    assert has_speech(heard)
    assert np.corrcoef(heard, wave)[0, 1] > 0.99


def without_speech(seed: int) -> list[np.ndarray]:
    """50 sounds in which nobody speaks, each of 2 s."""
    rng = np.random.default_rng(seed)
    time_ = np.arange(2 * RATE) / RATE
    sounds = [np.zeros(2 * RATE), np.full(2 * RATE, 0.1)]
    sounds += [level * rng.normal(size=2 * RATE) for level in 10.0 ** -np.arange(1, 5)]
    for _ in range(8):  # coloured noise: rain, wind, a fan
        spectrum = np.fft.rfft(rng.normal(size=2 * RATE))
        spectrum /= np.maximum(np.arange(len(spectrum)), 1.0) ** rng.uniform(0.3, 1.2)
        noise = np.fft.irfft(spectrum)
        sounds.append(0.3 * noise / np.abs(noise).max())
    sounds += [sum(np.sin(2 * np.pi * f * k * time_) / k for k in range(1, 6)) * 0.2
               for f in (50, 60, 100, 120, 150)]  # fmt: skip
    sounds += [0.4 * np.sin(2 * np.pi * f * time_) for f in (200, 440, 1000, 1900, 3000, 6000)]
    for every in (0.1, 0.25, 0.5, 1.0, 0.33, 0.7, 0.15):  # ticking, knocking
        clicks = np.zeros(2 * RATE)
        for start in np.arange(0, 1.9, every):
            decay = np.exp(-np.arange(800) / rng.uniform(20, 200))
            clicks[int(start * RATE) : int(start * RATE) + 800] += decay * rng.normal(size=800)
        sounds.append(clicks * 0.3)
    while len(sounds) < 50:  # melodies of pure tones and of overtones, hard and soft
        overtones, soft = int(rng.integers(1, 6)), rng.integers(2)
        sounds.append(melody(rng.integers(48, 84, 8), overtones, bool(soft)))
    return [sound.astype(np.float32) for sound in sounds]


def melody(notes, overtones: int, soft: bool) -> np.ndarray:
    """Notes (MIDI numbers) of 0.25 s each."""
    time_ = np.arange(RATE // 4) / RATE
    shape = np.minimum(1, np.minimum(time_, time_[::-1]) / 0.02) if soft else 1.0
    tune = [
        shape * sum(np.sin(2 * np.pi * k * 440 * 2 ** ((note - 69) / 12) * time_) / k
                    for k in range(1, overtones + 1))
        for note in notes
    ]  # fmt: skip
    return 0.2 * np.concatenate(tune)


@pytest.mark.parametrize("seed", [7, int(time.time()) // 86_400])
def test_of_fifty_sounds_without_speech_none_is_taken_for_speech(seed):
    sounds = without_speech(seed)
    assert len(sounds) == 50
    assert [i for i, sound in enumerate(sounds) if has_speech(load_audio((sound, RATE)))] == []


def test_sounds_without_speech_have_empty_transcripts(omni):
    sounds = without_speech(3)
    long = np.concatenate([sound for i in (0, 3, 8, 16, 22, 27, 40, 45) for sound in [sounds[i]] * 3])
    assert omni.transcribe((long, RATE)) == ""
    assert omni.transcribe((np.concatenate([sounds[45], speech(0.3, 2.0)]), RATE)) != ""


@pytest.mark.parametrize("before", [0.0, 2.0])
def test_speech_is_heard_within_noise_and_silence(before):
    rng = np.random.default_rng(1)
    quiet = 1e-3 * rng.normal(size=int(before * RATE)).astype(np.float32)
    word = np.concatenate([quiet, speech(0.3, 0.5), quiet])
    assert has_speech(word)
    assert has_speech(np.concatenate([melody([60, 64], 3, True).astype(np.float32), speech(0.3, 2.0)]))


def test_no_speech_is_an_answer_and_an_empty_transcript(omni):
    silence = (np.zeros(RATE, np.float32), RATE)
    assert omni.transcribe(silence) == ""
    assert omni.chat(audio=silence) == "I hear no speech."
    assert omni.batch([{"audio": silence}])[0] == "I hear no speech."
    session = omni.session()
    assert session.ask(audio=silence) == "I hear no speech."
    assert omni.chat(audio=(tone(440), RATE), vad=False) != "I hear no speech."


def test_the_sample_cases(omni):
    for name in ("ok.heic", "exif_bad.png", "exif_garbage.jpg", "bluesquare.png", "wide_circle.png"):
        assert load_image(CASES / name).mode == "RGB"
    for name in ("cut_download.webp", "fuzz_jpeg_39.jpg", "fuzz_othr_1.ico", "fuzz_webp_0.webp",
                 "fuzz_png_29.png"):
        with pytest.raises(UserError):
            load_image(CASES / name)
    with pytest.raises(UserError, match="no frame that can be decoded"):
        load_video(CASES / "fscut.mp4")
    for name in ("hdr_0.wav", "phase_opposite_8k.wav", "talk.mp4"):
        assert has_speech(load_audio(CASES / name))
    still, phone = (load_video(CASES / name).frames[0] for name in ("still.mp4", "still_phone.mp4"))
    assert still.size == phone.size
    assert np.abs(np.asarray(still, float) - np.asarray(phone, float)).mean() < 8  # turned upright
    talk, config = str(CASES / "talk.mp4"), omni.config()
    asked = omni.take("What did you hear?", video=talk, config=config)
    assert (len(asked.images), len(asked.sounds)) == (4, 1)
    assert omni.take(None, video=talk, config=config).text == VIDEO_QUESTION  # its voice asks nothing
    question = (load_audio("examples/question.wav"), RATE)
    aloud = omni.take(None, audio=question, video=talk, config=config)
    assert aloud.text == "" and len(aloud.sounds) == 2
    last = log_mel(torch.from_numpy(load_audio(question)))
    assert torch.equal(aloud.sounds[1].mel, last)  # the question comes after what it is about
    assert not omni.take("What?", video=talk, config=omni.config(video_sound=False)).sounds


def circle(width: int, height: int, ground: str = "white") -> Image.Image:
    """A red circle as high as the picture is short, in its middle."""
    image, small = Image.new("RGB", (width, height), ground), min(width, height)
    y, x = np.ogrid[:small, :small]
    mask = (x - small / 2) ** 2 + (y - small / 2) ** 2 < (small / 2 - 4) ** 2
    disc = Image.fromarray((mask * 255).astype(np.uint8))
    image.paste("red", ((width - small) // 2, (height - small) // 2), disc)
    return image


@pytest.mark.parametrize("size", [(1600, 200), (200, 1600), (640, 360)])
@pytest.mark.parametrize("ground", ["white", "black", "teal"])
def test_plain_margins_do_not_change_what_the_encoder_sees(size, ground):
    seen = image_to_tensor(circle(*size, ground)).float()
    square = image_to_tensor(circle(min(size), min(size), ground)).float()
    assert (seen - square).abs().mean() < 3
    full = Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 160, 3), np.uint8))
    squeezed = np.asarray(full.resize((224, 224), Image.Resampling.BICUBIC))
    assert (image_to_tensor(full).permute(1, 2, 0).numpy() == squeezed).all()  # as it was trained


@pytest.mark.filterwarnings("ignore")
def test_damaged_media_are_read_or_refused_in_one_line(tmp_path):
    """A sample, another each day; all 2,000: `python -m tests.inference.test_real_inputs`."""
    survive(media_cases(int(time.time()) // 86_400, 150, tmp_path), SLOW)


@pytest.mark.filterwarnings("ignore")
def test_damaged_checkpoints_are_read_or_refused_in_one_line(nano_omni_dir, tmp_path):
    survive(checkpoint_cases(int(time.time()) // 86_400, 40, nano_omni_dir, tmp_path), SLOW)


if __name__ == "__main__":
    run_all(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
