"""Playing: sound reaches a program whole and in order; no device is one clear line."""

import sys

import numpy as np
import pytest

import infer_chat
from inference import player
from inference.output import pcm16
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
