"""Speech from the command line: into a pipe, a file, or aloud; text and sound never mix."""

import io
import struct
import sys

import av
import numpy as np
import pytest
import soundfile

import infer_chat
from inference.omni import Omni
from inference.repl import Repl

SAY = ("--say", "One. Two and three.", "--seed", "1")
PIECES = ["One", ".", " Two", " and", " three."]


@pytest.fixture
def run(nano_omni_dir, capsysbinary):
    def call(*arguments, code: int = 0) -> tuple[bytes, str]:
        assert infer_chat.main([*map(str, arguments), "--ckpt_dir", str(nano_omni_dir)]) == code
        out, err = capsysbinary.readouterr()
        return out, err.decode()

    return call


def test_stream_and_file_hold_the_same_samples(run, tmp_path):
    file = tmp_path / "a.wav"
    assert run(*SAY, "--audio_out", file, "--quiet") == (b"", "")
    out, err = run(*SAY, "--audio_out", "-")
    assert err == ""
    assert out[:4] == b"RIFF" and struct.unpack("<I", out[4:8]) == (0xFFFFFFFF,)
    assert out[36:40] == b"data" and struct.unpack("<I", out[40:44]) == (0xFFFFFFFF,)
    assert out[44:] == soundfile.read(file, dtype="int16")[0].tobytes()
    with av.open(io.BytesIO(out)) as container:  # FFmpeg reads it to its end
        assert container.streams.audio[0].rate == 16_000
        heard = np.concatenate([f.to_ndarray().ravel() for f in container.decode(audio=0)])
    assert heard.astype("<i2").tobytes() == out[44:]


def test_text_keeps_out_of_the_sound(run, monkeypatch, tmp_path):
    monkeypatch.setattr(Omni, "stream", lambda self, *_, **__: iter(PIECES))
    ask = ("--text", "Hello", "--seed", "1")
    said = run(*SAY, "--audio_out", "-")[0]
    assert run(*ask, "--audio_out", "-") == (said, "One. Two and three.\n")
    assert run(*ask, "--audio_out", "-", "--quiet") == (said, "")
    out, err = run(*ask, "--audio_out", tmp_path / "a.wav")
    assert out == b"One. Two and three.\n" and err.startswith("wrote ")


def test_refusals_leave_the_pipe_empty(run, monkeypatch):
    for bad in (["--voice", "nobody"], ["--vocoder", "tape"], ["--speed", "9"]):
        out, err = run(*SAY, "--audio_out", "-", *bad, code=2)
        assert out == b"" and err.startswith("error: ") and err.count("\n") == 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "pipe it" in run(*SAY, "--audio_out", "-", code=2)[1]


class Sink:
    """Keeps what is played."""

    def __init__(self):
        self.played = []

    def write(self, samples):
        self.played.append(samples)


def test_a_conversation_aloud(omni, monkeypatch, capsys):
    sink = Sink()
    chat = Repl(omni, None, {"seed": 1}, True, [sink])
    monkeypatch.setattr(chat.session, "stream", lambda *_, **__: iter(PIECES))
    chat.handle("Hello")
    assert capsys.readouterr().out == "One. Two and three.\n"
    whole, _ = omni.speak("One. Two and three.", seed=1)
    assert np.array_equal(np.concatenate(sink.played), whole)
    sink.played.clear()
    chat.handle("/say One. Two and three.")
    assert np.array_equal(np.concatenate(sink.played), whole)
