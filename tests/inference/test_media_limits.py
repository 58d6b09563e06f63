"""Media beyond the plain file: limits, playlists, covers, wide pixels, streams of unknown length."""

import io
import struct
from fractions import Fraction
from types import SimpleNamespace

import av
import numpy as np
import pytest
import soundfile
from PIL import Image

from inference.audio import blocks_of
from inference.media import Limits, load_audio, load_image, load_video, resample
from inference.video import aspect
from inference.waveform import resampled_blocks
from models.errors import UserError
from tests.inference.conftest import picture, tone

RATE = 16_000
NARROW = Limits(max_pixels=1000)


def wav() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, tone(440), RATE, format="WAV")
    return file.getvalue()


def video(brightness, kind: str = "mp4", wide: Fraction | None = None) -> bytes:
    """A 64 × 64 clip of grey frames, whose pixels are so many times as wide as high."""
    file = io.BytesIO()
    with av.open(file, "w", format=kind) as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        if wide is not None:
            stream.codec_context.sample_aspect_ratio = wide
        for level in brightness:
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), level, np.uint8), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


def gif(brightness) -> bytes:
    file = io.BytesIO()
    first, *others = (Image.new("L", (64, 64), level) for level in brightness)
    first.save(file, "GIF", save_all=True, append_images=others)
    return file.getvalue()


@pytest.mark.parametrize("load", [load_audio, load_video])
def test_an_upload_names_no_other_file(load, tmp_path, monkeypatch):
    (tmp_path / "secret.wav").write_bytes(wav())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        load(b"ffconcat version 1.0\nfile secret.wav")


def test_a_file_larger_than_the_limit_is_refused(tmp_path):
    (tmp_path / "x.wav").write_bytes(wav())
    for source in (tmp_path / "x.wav", wav(), io.BytesIO(wav())):
        with pytest.raises(UserError, match="larger than the limit of 999 bytes"):
            load_audio(source, Limits(max_bytes=999))


def test_an_open_file_is_read_no_further_than_the_limit():
    file = io.BytesIO(wav())
    with pytest.raises(UserError, match="larger than the limit"):
        load_audio(file, Limits(max_bytes=999))
    assert file.tell() == 1000


@pytest.mark.parametrize("source", [picture(0), np.asarray(picture(0)), gif([10, 90])])
def test_a_picture_of_more_pixels_than_the_limit_is_refused(source):
    assert load_image(source).size == (64, 64)
    with pytest.raises(UserError, match="more than 1,000 pixels"):
        load_image(source, NARROW)


@pytest.mark.parametrize("make", [video, gif])
def test_a_clip_of_more_pixels_than_the_limit_is_refused(make):
    with pytest.raises(UserError, match="more than 1,000 pixels"):
        load_video(make([10, 90, 200]), NARROW)


@pytest.mark.parametrize("kind", ["gif", "m4v"])
def test_frames_are_the_middles_of_equal_parts(kind):
    brightness = [10 + 2 * index for index in range(100)]
    content = gif(brightness) if kind == "gif" else video(brightness, kind="m4v")  # says no length
    levels = [np.asarray(frame).mean() for frame in load_video(content).frames]
    assert np.allclose(levels, (34, 84, 134, 184), atol=8)


@pytest.mark.parametrize(("wide", "width"), [(Fraction(2), 128), (Fraction(1), 64), (None, 64)])
@pytest.mark.parametrize("kind", ["mp4", "matroska", "m4v"])  # by seeking, and by counting
def test_wide_pixels_are_made_square(kind, wide, width):
    frames = load_video(video([90] * 8, kind, wide)).frames
    assert len(frames) == 4 and all(frame.size == (width, 64) for frame in frames)


@pytest.mark.parametrize("told, wide", [(2, 2.0), (None, 1.0), (0, 1.0), (9, 1.0), (Fraction(1, 2), 0.5)])
def test_a_shape_of_pixels_that_no_camera_has_is_ignored(told, wide):
    assert aspect(SimpleNamespace(sample_aspect_ratio=told)) == wide


def test_the_cover_of_a_song_is_no_video():
    file, cover = io.BytesIO(), io.BytesIO()
    soundfile.write(file, tone(440, 1.0), RATE, format="MP3")
    picture(0).save(cover, "PNG")
    body = b"\0image/png\0\x03\0" + cover.getvalue()  # Latin-1, a front cover, untitled
    frame = b"APIC" + struct.pack(">I", len(body)) + bytes(2) + body
    size = bytes(len(frame) >> shift & 127 for shift in (21, 14, 7, 0))
    song = b"ID3\3\0\0" + size + frame + file.getvalue()
    assert len(load_audio(song)) > 0.9 * RATE
    with pytest.raises(UserError, match="no picture in it, only sound"):
        load_video(song)


def test_samples_come_as_hugging_face_data_sets_have_them():
    heard = load_audio({"array": tone(440), "sampling_rate": RATE})
    assert np.array_equal(heard, load_audio((tone(440), RATE)))


def test_a_broadcast_is_heard_beyond_a_change_of_its_rate():
    low, high = tone(440, 1.0, 8_000)[:, None], tone(880, 1.0, 48_000)[:, None]
    both = np.concatenate([high, high], axis=1)
    blocks = list(blocks_of(iter([(low, 8_000, 0.0), (high, 48_000, 0.0), (both, 48_000, 0.0)])))
    assert [len(block) for block in blocks] == [RATE] * 3
    inner = slice(1000, -1000)
    for block, hertz in zip(blocks, (440, 880, 880), strict=True):
        assert np.abs(block[inner] - tone(hertz, 1.0)[inner]).max() < 0.01


def test_a_long_sound_in_blocks_equals_the_whole():
    noise = np.random.default_rng(0).normal(0, 0.1, 75 * 22_050).astype(np.float32)
    joined = np.concatenate(list(resampled_blocks(iter([noise[:, None]]), 22_050, RATE)))
    whole = resample(noise, 22_050, RATE)
    assert len(joined) == len(whole)
    assert np.abs(joined - whole).max() < 1e-3
