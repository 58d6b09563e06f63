"""Playing: sound reaches a program whole and in order; no device is one clear line."""

import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

import infer_chat
from inference import player
from inference.output import pcm16, wav_header
from models.errors import UserError


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without sounddevice and with no other program than those made in the folder."""
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path, body: str) -> None:
    path.write_text(f"#!{sys.executable} -S\nimport sys\n{body}\n")
    path.chmod(0o755)


def test_all_sound_arrives_in_order(bare):
    heard = bare / "heard"
    program(bare / "aplay", f"open({str(heard)!r}, 'wb').write(sys.stdin.buffer.read())")
    wave = np.sin(np.arange(40_000) / 9).astype(np.float32)
    with player.open_player(16_000) as out:
        for chunk in np.split(wave, 8):
            out.write(chunk)
    assert heard.read_bytes().endswith(pcm16(wave).tobytes())
    assert len(heard.read_bytes()) == 2 * (1_600 + 40_000)  # a moment of silence comes first


def test_a_program_without_a_device_gives_way_to_the_next(bare, monkeypatch):
    monkeypatch.setattr(player, "STARTUP", 30.0)  # seconds: it ends as soon as it has failed
    program(bare / "aplay", "sys.exit(1)")
    with pytest.raises(UserError, match="no sound device"):
        player.open_player(16_000)


def test_play_without_a_device_is_one_line_and_code_2(bare, capsys):
    assert infer_chat.main(["--say", "Hello.", "--play"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: no sound can be played") and err.count("\n") == 1


def test_a_failing_output_is_told():
    class Broken:
        def write(self, samples):
            raise OSError("unplugged")

        def stop(self):
            pass

    with pytest.raises(UserError, match="unplugged"), player.Player(Broken()) as out:
        out.write(np.zeros(9, np.float32))


class Heard:
    """An output that keeps what it plays; the first chunk waits for `go`."""

    def __init__(self):
        self.chunks, self.ended, self.go, self.began = [], [], threading.Event(), threading.Event()

    def write(self, samples):
        self.began.set()
        assert self.go.wait(20)
        self.chunks.append(samples)

    def finish(self):
        self.ended.append("finish")

    def stop(self):
        self.ended.append("stop")


def test_what_is_dropped_is_not_heard():
    out = Heard()
    with player.Player(out) as playing:
        for level in 1.0, 2.0, 3.0:
            playing.write(np.full(9, level))
        assert out.began.wait(20)
        playing.drop()
        playing.write(np.full(9, 4.0))
        out.go.set()
    assert [chunk[0] for chunk in out.chunks] == [1.0, 4.0] and out.ended == ["finish"]


def test_after_an_error_nothing_more_sounds():
    out = Heard()
    with pytest.raises(KeyboardInterrupt), player.Player(out) as playing:
        for level in 1.0, 2.0:
            playing.write(np.full(9, level))
        assert out.began.wait(20)
        raise KeyboardInterrupt
    assert out.ended == ["stop"] and playing.waiting.empty()
    out.go.set()


class OutputStream:
    """As sounddevice's."""

    made = []  # noqa: RUF012

    def __init__(self, **settings):
        self.settings, self.played, self.calls = settings, [], []
        self.made.append(self)

    def write(self, samples):
        self.played.append(samples)

    def __getattr__(self, name):
        return lambda: self.calls.append(name)


@pytest.mark.parametrize("broken", [False, True])
def test_a_device_plays_by_sounddevice(broken, monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", SimpleNamespace(OutputStream=OutputStream))
    wave = np.sin(np.arange(4_000) / 9).astype(np.float32)
    with suppress(KeyboardInterrupt), player.open_player(16_000) as out:
        for chunk in np.split(wave, 4):
            out.write(chunk)
        if broken:
            raise KeyboardInterrupt
    stream = OutputStream.made[-1]
    assert stream.settings == {"samplerate": 16_000, "channels": 1, "dtype": "float32"}
    if broken:
        assert stream.calls == ["start", "abort", "close"]
    else:
        assert np.array_equal(np.concatenate(stream.played), wave[:, None])
        assert stream.calls == ["start", "stop", "close"]


def test_a_program_that_fails_is_told(bare, monkeypatch):
    monkeypatch.setattr(player, "STARTUP", 0.1)
    program(bare / "aplay", "sys.stdin.buffer.read(); sys.exit(1)")
    with pytest.raises(UserError, match="aplay ended with code 1"), player.open_player(16_000) as out:
        out.write(np.zeros(99, np.float32))


def test_ffplay_is_told_the_rate_by_a_header(bare):
    heard = bare / "heard"
    program(bare / "ffplay", f"open({str(heard)!r}, 'wb').write(sys.stdin.buffer.read())")
    with player.open_player(16_000) as out:
        out.write(np.ones(99, np.float32))
    silence, sound = pcm16(np.zeros(1_600)), pcm16(np.ones(99))
    assert heard.read_bytes() == wav_header(16_000) + silence.tobytes() + sound.tobytes()
