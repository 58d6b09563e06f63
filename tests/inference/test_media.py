"""Media: everything readable is read right, everything else is refused with one line."""

import io
import os
import struct

import av
import numpy as np
import pytest
import soundfile
from PIL import Image, ImageFile

from inference import Notice, images
from inference.audio import open_audio
from inference.media import Limits, load_audio, load_image, load_video, resample
from inference.waveform import resampled_blocks
from models.errors import UserError
from tests.conftest import ROOT
from tests.inference.conftest import picture, tone


def refused(call, *arguments) -> str:
    with pytest.raises(UserError) as caught:
        call(*arguments)
    line = str(caught.value)
    assert line and "\n" not in line
    return line


@pytest.mark.parametrize("load", [load_image, load_audio, load_video])
def test_what_is_no_such_file_is_refused(load, tmp_path):
    assert "no such" in refused(load, tmp_path / "absent.bin")
    assert "directory" in refused(load, tmp_path)
    assert "empty" in refused(load, "")
    assert "cannot read" in refused(load, "a\0b")
    assert "cannot read" in refused(load, "x" * 5000)
    os.mkfifo(tmp_path / "fifo")
    assert "regular" in refused(load, tmp_path / "fifo")
    for content in (b"", b"not media at all" * 9, os.urandom(3000)):
        (tmp_path / "junk").write_bytes(content)
        refused(load, tmp_path / "junk")


def test_images_of_all_kinds(tmp_path):
    path = tmp_path / "x.png"
    for image in (
        picture(0, 1),
        picture(0, 300).convert("L"),
        picture(0).convert("P"),
        picture(0).convert("RGBA"),
        picture(0).convert("1"),
    ):
        image.save(path)
        assert load_image(path).convert("RGB").tobytes() == image.convert("RGB").tobytes()
    deep = np.array([[0, 65_535], [32_768, 257]], dtype=np.uint16)
    Image.fromarray(deep).save(path)
    assert np.asarray(load_image(path))[..., 0].tolist() == [[0, 255], [127, 1]]
    red, blue = Image.new("RGB", (9, 9), "red"), Image.new("RGB", (9, 9), "blue")
    red.save(tmp_path / "x.gif", save_all=True, append_images=[blue])
    animation = Image.open(tmp_path / "x.gif")
    animation.seek(1)
    for source in (tmp_path / "x.gif", animation, np.asarray(red)):
        assert load_image(source).convert("RGB").getpixel((0, 0)) == (255, 0, 0)


def test_deep_greys_are_scaled_by_the_range_they_use(tmp_path):
    ramp = np.arange(256.0).reshape(16, 16)
    for values, kind in (
        *((ramp, kind) for kind in (np.uint16, np.int32, np.float32)),  # 8 bits in a wider type
        *((ramp * 257, kind) for kind in (np.uint16, np.int32, np.float32)),
        (ramp * 1e6, np.int32), (ramp / 255, np.float32), (ramp / 255 - 1e-7, np.float32),
    ):
        Image.fromarray(values.astype(kind)).save(tmp_path / "x.tif")
        seen = np.asarray(load_image(tmp_path / "x.tif"))[..., 0]
        assert np.abs(seen - ramp).max() <= 1, (kind, values.max())
    Image.fromarray((ramp / 250).astype(np.float32)).save(tmp_path / "x.tif")  # sharpened beyond 1
    assert np.asarray(load_image(tmp_path / "x.tif"))[8, 0, 0] == 130


@pytest.mark.parametrize(
    ("kind", "options"),
    [("WEBP", {}), ("WEBP", {"lossless": True}), ("GIF", {}), ("PNG", {}), ("TIFF", {}), ("MPO", {}),
     ("TIFF", {"compression": "jpeg"})],
)
def test_a_cut_animation_shows_what_is_sound(kind, options):
    buffer = io.BytesIO()
    noise, red, green, blue = (picture(seed, 96) for seed in range(4))
    for image, colour in (red, "red"), (green, "lime"), (blue, "blue"):
        image.paste(colour, (0, 0, 96, 30))
        image.paste(colour, (0, 80, 96, 96))
    red.save(buffer, kind, save_all=True, append_images=[green, blue, noise], **options)
    for part in (0.4, 0.45, 0.6, 0.9):
        content = buffer.getvalue()[: int(part * buffer.tell())]
        for image in (load_image(content), load_video(content).frames[0]):
            for y in (2, 93):
                r, g, b = image.getpixel((48, y))
                assert r > 240 and g < 15 and b < 15, part
    if kind == "WEBP":
        assert "ends within its first picture" in refused(load_image, buffer.getvalue()[:500])


def test_broken_and_enormous_images(tmp_path, monkeypatch):
    buffer = io.BytesIO()
    picture(0, 200).save(buffer, "PNG")
    for name, content in (
        ("head.png", b"\x89PNG\r\n\x1a\n"),
        ("nothing.png", buffer.getvalue()[:60]),
        ("other.png", buffer.getvalue()[:900] + bytes(100) + buffer.getvalue()[1000:]),
    ):
        (tmp_path / name).write_bytes(content)
        assert "corrupt" in refused(load_image, tmp_path / name)
    Image.new("1", (20_000, 20_000)).save(tmp_path / "huge.png")
    assert "178,956,970 pixels" in refused(load_image, tmp_path / "huge.png")
    with monkeypatch.context() as patched:
        patched.setattr(images, "load_pixels", lambda *_: bytearray(10**18))  # more than there is
        assert "than 39,999 pixels" in refused(load_image, picture(0, 200))
    Image.new("1", (12_000, 10_000)).save(tmp_path / "large.png")
    assert load_image(tmp_path / "large.png").size == (12_000, 10_000)
    for array in (np.zeros((4, 4)), np.zeros((4, 4, 5), np.uint8), np.zeros((0, 4), np.uint8)):
        refused(load_image, array)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_101, 48_000])
def test_audio_of_any_rate_and_channels(rate, tmp_path):
    wave = tone(440, 0.7, rate)
    expected = tone(440, 0.7)
    soundfile.write(tmp_path / "x.wav", np.stack([wave, wave], 1), rate, subtype="FLOAT")
    for heard in (
        load_audio(tmp_path / "x.wav"),
        load_audio((wave, rate)),
        load_audio((np.stack([wave, wave]), rate)),
        load_audio(((wave * 32_767).astype(np.int16), rate)),
    ):
        assert heard.dtype == np.float32
        assert abs(len(heard) - len(expected)) <= 1
        middle = slice(500, 10_000)
        assert np.abs(heard[middle] - expected[middle]).max() < 0.01


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_a_picture_whose_end_is_missing_shows_what_is_there(kind, tmp_path):
    image = Image.radial_gradient("L").resize((200, 200)).convert("RGB")
    image.save(tmp_path / "whole", kind)
    content = (tmp_path / "whole").read_bytes()
    for share in (0.5, 0.9):
        (tmp_path / "cut").write_bytes(content[: int(share * len(content))])
        with pytest.warns(Notice, match="ends too soon"):
            seen = np.asarray(load_image(tmp_path / "cut"))
        rows = int(0.4 * 200)
        assert np.abs(seen[:rows].astype(int) - np.asarray(image)[:rows]).mean() < 8
    assert not ImageFile.LOAD_TRUNCATED_IMAGES


def test_a_deep_grey_picture_is_turned_upright(tmp_path):
    image = Image.fromarray(np.arange(6, dtype=np.uint16).reshape(2, 3) * 10_000)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright
    image.save(tmp_path / "grey.png", exif=exif)
    assert load_image(tmp_path / "grey.png").size == (2, 3)
    image.save(tmp_path / "grey.png", exif=b"Exif\0\0garbage!")
    assert load_image(tmp_path / "grey.png").size == (3, 2)


@pytest.mark.parametrize(("kind", "share"), [("GIF", 0.9), ("TIFF", 0.5)])
def test_the_first_frame_is_seen_where_later_ones_are_missing(kind, share):
    rng = np.random.default_rng(0)
    frames = [Image.fromarray(rng.integers(0, 255, (60, 60, 3), np.uint8)) for _ in range(10)]
    file = io.BytesIO()
    frames[0].save(file, kind, save_all=True, append_images=frames[1:])
    whole, cut = (load_image(file.getvalue()[: int(part * file.tell())]) for part in (1.0, share))
    assert cut.tobytes() == whole.tobytes()


def test_a_photoshop_file_with_layers_shows_its_whole():
    channels = b"".join(struct.pack(">hI", number, 3) for number in range(3))
    layer = struct.pack(">4IH", 0, 0, 1, 1, 3) + channels + b"8BIMnorm" + bytes(8)
    layers = struct.pack(">h", 2) + 2 * layer + bytes(18)  # each 3 channels of one pixel
    head = b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 4, 5, 8, 3) + bytes(8)
    info = struct.pack(">II", len(layers) + 4, len(layers)) + layers
    assert load_image(head + info + bytes(2) + b"\xff" * 20 + bytes(40)).getpixel((4, 3)) == (255, 0, 0)


@pytest.mark.parametrize("name", ["talk.flac", "talk.mp3"])
def test_beyond_a_damaged_spot_a_recording_is_heard(name, tmp_path):
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / name, rng.normal(0, 0.1, 40 * 16_000), 16_000)
    content = bytearray((tmp_path / name).read_bytes())
    place = len(content) // 4
    content[place : place + 3000] = bytes(3000)
    (tmp_path / name).write_bytes(content)
    seconds = sum(map(len, open_audio(tmp_path / name)[1])) / 16_000
    assert 38 < seconds < 41


def test_a_cut_mp3_is_heard_without_a_word_on_stderr(tmp_path, capfd):
    soundfile.write(tmp_path / "x.mp3", tone(440, 4.0), 16_000)
    content = (tmp_path / "x.mp3").read_bytes()
    for tag in b"", b"ID3\x04\0\0\0\0\x02\0" + bytes(256):
        wave = load_audio((tag + content)[: len(content) // 2])
        assert 1.5 < len(wave) / 16_000 < 2.2
        assert np.corrcoef(wave[:16_000], tone(440, 1.0))[0, 1] > 0.99
    assert capfd.readouterr() == ("", "")  # libmpg123 is no Python


def test_channels_are_mixed_alike_however_short_the_pieces():
    rng = np.random.default_rng(0)
    left = rng.normal(0, 0.1, 48_000).astype(np.float32)
    stereo = np.stack([left, np.roll(left, 20)], 1)  # (n, 2)
    pieces = [stereo[start : start + 1024] for start in range(0, len(stereo), 1024)]
    whole, joined = (list(resampled_blocks(iter(x), 16_000, 16_000)) for x in ([stereo], pieces))
    assert np.array_equal(np.concatenate(whole), np.concatenate(joined))


def test_audio_formats_libsndfile_reads(tmp_path):
    for name in ("x.flac", "x.ogg", "x.mp3", "x.aiff"):
        soundfile.write(tmp_path / name, tone(440, 1.0), 16_000)
        assert abs(len(load_audio(tmp_path / name)) - 16_000) < 2500


def test_audio_that_cannot_be_heard(tmp_path):
    path = tmp_path / "x.wav"
    for samples, why in (
        ([], "empty"),
        ([0.1], "ms long"),
        (tone(100, 0.02), "ms long"),
        ([0.1] * 9000 + [float("nan")], "NaN"),
        ([float("inf")] * 9000, "NaN"),
    ):
        soundfile.write(path, np.asarray(samples, np.float32), 16_000, subtype="FLOAT")
        assert why in refused(load_audio, path)
        assert why in refused(load_audio, (np.asarray(samples, np.float32), 16_000))
    for source in ((16_000, tone(9)), (tone(9), 10), 3, (tone(9),), (["a"], 16_000)):
        refused(load_audio, source)


def test_an_hour_is_not_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "hour.wav"
    with soundfile.SoundFile(path, "w", 8_000, 1, "PCM_U8") as file:
        for _ in range(60):
            file.write(tone(440, 60, 8_000))
    read = soundfile.SoundFile.read
    asked = []

    def spy(self, frames=-1, *rest, **options):
        asked.append(frames)
        return read(self, frames, *rest, **options)

    monkeypatch.setattr(soundfile.SoundFile, "read", spy)
    with pytest.warns(Notice, match=r"3600\.0 s long: only the first 30 s"):
        assert len(load_audio(path)) == 480_000
    assert 30 * 8_000 <= sum(asked) <= 70 * 8_000  # two blocks of the resampler at most
    with pytest.warns(Notice, match="40.0 s long"):
        assert len(load_audio((tone(100, 40), 16_000))) == 480_000


def test_a_header_that_tells_less_than_there_is_does_not_contradict_the_notice(monkeypatch):
    blocks = (np.zeros(16_000, np.float32) for _ in range(40))
    monkeypatch.setattr("inference.audio.open_audio", lambda source, limits: ("vbr.mp3", blocks, 20.0))
    with pytest.warns(Notice, match="vbr.mp3 is more than 30 s long: only the first 30 s"):
        assert len(load_audio("vbr.mp3")) == 480_000


def test_loud_audio_is_scaled_not_clipped():
    heard = load_audio((tone(440) * 10, 16_000))
    assert np.abs(heard).max() == pytest.approx(1.0)
    assert np.corrcoef(heard, tone(440))[0, 1] > 0.9999


def test_resampling_down_removes_what_would_alias():
    assert np.abs(resample(tone(10_000, 1.0, 48_000), 48_000, 16_000)[1000:-1000]).max() < 0.01


def write_video(path, brightness: list[int], rate: int = 10) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        for level in brightness:
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), level, np.uint8), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def levels(images) -> list[int]:
    return [round(float(np.asarray(image).mean())) for image in images]


def test_video_frames_are_evenly_spaced_and_uint8(tmp_path):
    for name in ("x.mp4", "x.mkv", "x.avi"):
        write_video(tmp_path / name, [10 + 2 * index for index in range(100)])
        images = load_video(tmp_path / name).frames
        assert [image.mode for image in images] == ["RGB"] * 4
        for got, wanted in zip(levels(images), (34, 84, 134, 184), strict=True):
            assert abs(got - wanted) < 8
    assert len(load_video(tmp_path / "x.mp4", Limits(video_frames=7)).frames) == 7
    write_video(tmp_path / "two.mp4", [50, 200])
    assert len(load_video(tmp_path / "two.mp4").frames) == 2
    write_video(tmp_path / "one.m4v", [90])
    assert len(load_video(tmp_path / "one.m4v").frames) == 1


def test_a_clip_with_damaged_sound_is_seen_without_it():
    content = bytearray((ROOT / "tests/fixtures/cases/talk.mp4").read_bytes())
    with av.open(io.BytesIO(bytes(content))) as clip:
        for packet in clip.demux(clip.streams.audio[0]):
            if packet.size:
                content[packet.pos : packet.pos + packet.size] = b"\xff" * packet.size
    with pytest.warns(Notice, match="pictures are seen without sound"):
        seen = load_video(bytes(content), sound=True)
    assert len(seen.frames) == 4 and seen.sound is None
    assert "nothing can be decoded" in refused(load_audio, bytes(content))  # it alone was asked for


def test_video_that_cannot_be_seen(tmp_path):
    soundfile.write(tmp_path / "x.wav", tone(440), 16_000)
    assert "only sound" in refused(load_video, tmp_path / "x.wav")
    write_video(tmp_path / "x.avi", [10 * index for index in range(20)])
    content = (tmp_path / "x.avi").read_bytes()
    (tmp_path / "cut.avi").write_bytes(content[: (content.index(b"movi") + len(content)) // 2])
    assert 1 <= len(load_video(tmp_path / "cut.avi").frames) <= 4  # what is there is seen
    write_video(tmp_path / "x.mp4", [10 * index for index in range(20)])
    (tmp_path / "cut.mp4").write_bytes((tmp_path / "x.mp4").read_bytes()[:600])
    refused(load_video, tmp_path / "cut.mp4")


def test_a_video_whose_sound_goes_on_is_seen_over_its_own_length(tmp_path):
    """Matroska tells the length of the file alone."""
    path = tmp_path / "long.mkv"
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("mpeg4", rate=10)
        sound = container.add_stream("pcm_s16le", rate=8000)
        pictures.width = pictures.height = 64
        pictures.pix_fmt, sound.layout = "yuv420p", "mono"
        for index in range(40):
            frame = np.full((64, 64, 3), 10 + 5 * index, np.uint8)
            container.mux(pictures.encode(av.VideoFrame.from_ndarray(frame, "rgb24")))
        container.mux(pictures.encode())
        for start in range(0, 60 * 8000, 8000):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16), "s16", "mono")
            frame.rate, frame.pts = 8000, start
            container.mux(sound.encode(frame))
        container.mux(sound.encode())
    seen = levels(load_video(path).frames)
    assert len(seen) == 4 and seen == sorted(seen) and seen[0] < 60 and 140 < seen[-1] < 200


def test_a_video_that_is_given_as_a_picture_is_told_its_flag(tmp_path):
    write_video(tmp_path / "x.mp4", [50, 200])
    with pytest.raises(UserError, match="is a video: give it with --video"):
        load_image(tmp_path / "x.mp4")
