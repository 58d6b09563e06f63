"""Writing: wrong places are refused before the work, existing files survive a failure."""

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from inference.codec import write_codes
from inference.output import AUDIO_FORMATS, check_audio_path, write_audio, write_text
from models.codec import CodecConfig, MelCodec
from models.errors import UserError
from tests.conftest import full_disk


def test_formats(tmp_path):
    wave = np.sin(np.arange(16_000) / 9).astype(np.float32) * 1.5  # beyond 1: clipped, not wrapped
    for name in ("a.wav", "b.flac", "c.OGG", "d.opus", "e.mp3"):
        write_audio(tmp_path / name, wave, 16_000)
        samples, rate = soundfile.read(tmp_path / name)
        assert rate == 16_000
        assert abs(len(samples) - 16_000) < 600
        assert np.corrcoef(samples[:15_000], wave[:15_000].clip(-1, 1))[0, 1] > 0.95
    assert soundfile.info(tmp_path / "a.wav").subtype == "PCM_16"
    assert sorted(os.listdir(tmp_path)) == ["a.wav", "b.flac", "c.OGG", "d.opus", "e.mp3"]


def test_names_and_texts_that_are_not_utf8_are_written(tmp_path):
    wave = tmp_path / "caf\udce9.wav"  # Latin-1, as a shell hands it over
    write_audio(wave, np.zeros(99, np.float32), 16_000)
    write_text(tmp_path / "x.txt", wave.stem)
    assert wave.stat().st_size > 99
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == "caf?"


def test_refused_paths(tmp_path):
    (tmp_path / "d.wav").mkdir()
    (tmp_path / "file").write_text("")
    places = [tmp_path / "x.mp4", tmp_path / "x", tmp_path / "d.wav", tmp_path / "none" / "x.wav"]
    places += [tmp_path / "file" / "x.wav", Path("/proc/x.wav"), tmp_path / f"{'x' * 300}.wav", ""]
    places += ["a\0b.wav"]
    for path in places:
        with pytest.raises(UserError):
            check_audio_path(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.wav"
    path.write_bytes(b"old")

    def full_disk(file, samples):
        file.name.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(soundfile.SoundFile, "write", full_disk)
    with pytest.raises(UserError, match="No space"):
        write_audio(path, np.zeros(9), 16_000)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.wav"]
    write_text(tmp_path / "x.txt", "μ")
    assert (tmp_path / "x.txt").read_text(encoding="utf-8") == "μ"


@pytest.mark.parametrize("ending", AUDIO_FORMATS)
def test_a_full_disk_is_one_error_and_nothing_else(ending, tmp_path, capfd):
    path = tmp_path / f"x{ending}"
    path.write_bytes(b"old")
    with full_disk(), pytest.raises(UserError, match="cannot write"):
        write_audio(path, np.sin(np.arange(16_000)), 16_000)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == [path.name]
    assert capfd.readouterr() == ("", "")


def test_codes_on_a_full_disk_are_one_error(tmp_path):
    codec = MelCodec(CodecConfig(hidden_size=48, intermediate_size=96, num_layers=1, codebook_dim=16))
    with full_disk(), pytest.raises(UserError, match="cannot write .*x.safetensors"):
        write_codes(tmp_path / "x.safetensors", codec, torch.zeros(9, 8), 16_000)
    assert not os.listdir(tmp_path)
