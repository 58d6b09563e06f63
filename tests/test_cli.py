"""The command line: every flag as a user types it, and every bad input as one line and code 2.

Runs on the shipped weights (MUOMNI_TEST_CKPT names others). Good requests start a process; most
bad ones call `main` in this one, for a start costs seconds. Whether answers are right is
tests/test_shipped.py's and evaluate.py's business; here they must come.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from PIL import Image

import infer_chat

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A folder with a picture, a sound, a video and broken ones of each."""
    folder = tmp_path_factory.mktemp("files")
    Image.new("RGB", (80, 60), "red").save(folder / "red.png")
    Image.new("RGB", (1, 1), "blue").save(folder / "dot.png")
    Image.new("1", (20_000, 20_000)).save(folder / "huge.png")
    time = np.arange(22_050) / 22_050
    stereo = np.stack([np.sin(2770 * time), np.sin(1500 * time)], 1) * 0.3
    soundfile.write(folder / "tone.wav", stereo, 22_050)
    soundfile.write(folder / "tone.flac", stereo, 22_050)
    soundfile.write(folder / "long.wav", np.zeros(35 * 8_000), 8_000, subtype="PCM_U8")
    soundfile.write(folder / "empty.wav", np.zeros(0), 16_000)
    soundfile.write(folder / "one.wav", np.zeros(1), 16_000)
    soundfile.write(folder / "nan.wav", np.full(9_000, np.nan), 16_000, subtype="FLOAT")
    for name in ("bad.png", "bad.wav", "bad.mp4"):
        (folder / name).write_bytes(b"this is no media file " * 50)
    with av.open(str(folder / "clip.mp4"), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for level in range(0, 250, 25):
            pixels = np.full((64, 64, 3), level, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
        container.mux(stream.encode())
    return folder


@pytest.fixture
def chat(shipped_dir):
    """Run infer_chat.py in a process of its own."""

    def run(*arguments, typed: str | None = None, code: int = 0, ckpt: bool = True):
        own = ["--ckpt_dir", str(shipped_dir)] if ckpt else []
        done = subprocess.run(
            [sys.executable, str(ROOT / "infer_chat.py"), *map(str, arguments), *own],
            input=(typed or "").encode(),
            capture_output=True,
            timeout=120,
            cwd="/",
            check=False,
        )
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()  # \r stays \r
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def refused(shipped_dir, capsys):
    """Run in this process; the request must fail with one line on stderr and code 2."""

    def run(*arguments, ckpt: bool = True) -> str:
        own = ["--ckpt_dir", str(shipped_dir)] if ckpt else []
        try:
            code = infer_chat.main([*map(str, arguments), *own])
        except SystemExit as left:  # argparse's own refusals
            code = left.code
        out, err = capsys.readouterr()
        assert code == 2, (out, err)
        line = err.strip()
        assert "error: " in line and err.count("\n") == 1
        assert out == ""
        assert "Traceback" not in err
        return line

    return run


def test_text_with_sampling_flags(chat):
    flags = ("--temperature", 0.8, "--top_k", 20, "--top_p", 0.9, "--max_new_tokens", 12)
    one = chat("--text", "Tell me about dogs.", *flags, "--seed", 3, "--quiet")
    two = chat("--prompt", "Tell me about dogs.", *flags, "--seed", 3, "--quiet", "--device", "cpu")
    assert one.stdout == two.stdout
    assert one.stdout.strip()
    assert one.stderr == ""


def test_greedy_text_equals_the_python_api_and_starts_from_anywhere(chat, shipped_dir):
    from inference import Omni

    question = "Hello, how are you?"
    done = chat("--text", question, "--system_prompt", "You are kind.")
    omni = Omni.from_pretrained(shipped_dir)
    assert done.stdout == omni.chat(question, system_prompt="You are kind.") + "\n"
    assert question not in done.stdout


def test_default_checkpoint_is_the_shipped_one(chat, shipped_dir):
    assert chat("--text", "hi", ckpt=False).stdout.strip()


def test_image_bf16_and_default_question(chat, files):
    assert chat("--image", files / "red.png").stdout.strip()
    two = chat("--image", files / "red.png", "--image", files / "dot.png", "--dtype", "bf16")
    assert two.stdout.strip()


def test_audio_in_alone_transcribed_and_cut_with_a_notice(chat, files):
    both = ("--audio_in", files / "long.wav", "--image", files / "red.png", "--quiet")
    done = chat(*both, "--num_beams", "2")
    assert done.stderr == ""
    done = chat("--audio_in", files / "long.wav", "--text", "What did you hear?")
    assert re.search(r"^notice: .*35\.0 s long: only the first 30 s", done.stderr, re.MULTILINE)


def test_video(chat, files):
    assert chat("--video", files / "clip.mp4", "--text", "What happens?").returncode == 0


def test_answer_in_speech(chat, tmp_path):
    out = tmp_path / "answer.wav"
    out.write_bytes(b"old")
    done = chat("--text", "Hello world", "--audio_out", out, "--max_new_tokens", 20)
    assert done.stdout.strip()
    info = soundfile.info(out)
    assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")
    assert info.duration > 0.3
    assert os.listdir(tmp_path) == ["answer.wav"]


def test_say_with_speed_vocoder_voice_and_seed(chat, refused, tmp_path):
    slow, fast = tmp_path / "slow.wav", tmp_path / "fast.flac"
    say = ("--say", "The red circle is above the blue square.")
    chat(*say, "--audio_out", slow, "--speed", 0.8, "--seed", 1)
    done = chat(
        *say, "--audio_out", fast, "--speed", 1.4, "--vocoder", "griffinlim", "--quiet", "--seed", 1
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert soundfile.info(slow).duration > 1.3 * soundfile.info(fast).duration
    refused(*say, "--audio_out", slow, "--voice", "nobody-has-this-voice")
    refused(*say, "--audio_out", slow, "--vocoder", "no-such-vocoder")


def test_repl_commands_in_one_conversation(chat, files, tmp_path):
    typed = "\n".join(
        [
            "Hello",
            "",
            "/help",
            f"/image {files / 'red.png'}",
            "What do you see?",
            f"/audio {files / 'tone.flac'}",
            "",
            "/stats",
            f"/image {files / 'bad.png'}",
            "go on",
            "/image /no/such.png",
            "/nonsense",
            "/save",
            f"/save {tmp_path / 'chat.txt'}",
            "/reset",
            "/stats",
            f"/save {tmp_path / 'none' / 'x.wav'}",
            "/voice nobody-has-this-voice",
            "/say hello",
            "quit",
            "never read",
        ]
    )
    done = chat("--max_new_tokens", 16, typed=typed)
    assert done.stdout.count("μOmni: ") == 3
    assert "s of speech" in done.stdout
    assert "/reset" in done.stdout
    assert len(re.findall(r"Position: \d+ / \d+ \(\d+\.\d%\) \[OK\]", done.stdout)) == 2
    assert "Position: 0 /" in done.stdout
    assert done.stderr.count("error: ") == len(done.stderr.strip().splitlines()) == 6
    assert "never read" not in done.stdout
    said = (tmp_path / "chat.txt").read_text(encoding="utf-8")
    assert said.startswith("You: Hello\nμOmni: ")


def test_repl_speaks_saves_and_leaves_at_end_of_input(chat, tmp_path):
    done = chat(
        *("--native", "off"),  # elsewhere there may be no compiler, and a notice says so
        typed=f"Hello\n/save {tmp_path / 'a.wav'}\n/say one two\n/save {tmp_path / 'b.ogg'}",
    )
    assert done.stderr == ""
    for name in ("a.wav", "b.ogg"):
        assert soundfile.info(tmp_path / name).duration > 0.2
    quiet = chat("--quiet", typed="Hello\nq\n")
    assert "You: " not in quiet.stdout
    assert "μOmni: " not in quiet.stdout
    assert quiet.stdout.strip()


def test_repl_remembers(chat, shipped_dir):
    from inference import Omni

    done = chat("--quiet", typed="My name is Anna.\nWhat is my name?\nexit\n")
    session = Omni.from_pretrained(shipped_dir).session()
    expected = [session.ask("My name is Anna."), session.ask("What is my name?")]
    assert done.stdout == "\n".join(expected) + "\n"


def test_any_unicode_and_endless_text(chat, shipped_dir):
    chat("--text", "🦊\u0301 שלום <|image|> \u202e")
    done = chat("--text", "word " * 20_000, "--max_new_tokens", 4)
    assert "notice: the text is longer than the context" in done.stderr
    raw = [sys.executable, str(ROOT / "infer_chat.py"), "--text", b"caf\xe9"]  # Latin-1 bytes
    raw += ["--max_new_tokens", "2", "--ckpt_dir", str(shipped_dir)]
    done = subprocess.run(
        raw, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr


def test_closed_output_is_no_traceback(shipped_dir):
    command = (
        f"'{sys.executable}' '{ROOT / 'infer_chat.py'}' --ckpt_dir '{shipped_dir}' --text hi | :"
    )
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "flags",
    [
        ("--image", "absent.png"),
        ("--image", "."),
        ("--image", ""),
        ("--image", "bad.png"),
        ("--image", "huge.png"),
        ("--image", "tone.wav"),
        ("--audio_in", "absent.wav"),
        ("--audio_in", "."),
        ("--audio_in", "bad.wav"),
        ("--audio_in", "empty.wav"),
        ("--audio_in", "one.wav"),
        ("--audio_in", "nan.wav"),
        ("--audio_in", "red.png"),
        ("--video", "absent.mp4"),
        ("--video", "."),
        ("--video", "bad.mp4"),
        ("--video", "tone.wav"),
        ("--image", "red.png", "--image", "bad.png"),
        ("--image", "red.png", "--system_prompt", "word " * 3000),
        ("--text", ""),
        ("--text", "  "),
        ("--text", "a", "--prompt", "b"),
        ("--say", "a"),
        ("--say", "a", "--text", "b", "--audio_out", "o.wav"),
        ("--say", "a", "--prompt", "b", "--audio_out", "o.wav"),
        ("--say", "a", "--image", "red.png", "--audio_out", "o.wav"),
        ("--say", "a", "--audio_in", "tone.wav", "--audio_out", "o.wav"),
        ("--say", "a", "--video", "clip.mp4", "--audio_out", "o.wav"),
        ("--say", " ", "--audio_out", "o.wav"),
        ("--audio_out", "o.wav"),
        ("--text", "a", "--audio_out", "missing/o.wav"),
        ("--text", "a", "--audio_out", "."),
        ("--text", "a", "--audio_out", "o.mp4"),
        ("--text", "a", "--audio_out", "/proc/o.wav"),
        ("--text", "a", "--voice", "emma"),
        ("--text", "a", "--speed", "1.5"),
        ("--say", "a", "--audio_out", "o.wav", "--speed", "0"),
        ("--say", "a", "--audio_out", "o.wav", "--speed", "nan"),
        ("--text", "a", "--temperature", "-1"),
        ("--text", "a", "--temperature", "hot"),
        ("--text", "a", "--num_beams", "0"),
        ("--text", "a", "--num_beams", "2", "--temperature", "1"),
        ("--text", "a", "--top_k", "-1"),
        ("--text", "a", "--top_p", "0"),
        ("--text", "a", "--top_p", "2"),
        ("--text", "a", "--seed", "-1"),
        ("--text", "a", "--max_new_tokens", "0"),
        ("--text", "a", "--device", "toaster"),
        ("--text", "a", "--dtype", "fp4"),
        ("--no_such_flag",),
        ("stray",),
    ],
    ids=lambda flags: " ".join(flags)[:60],
)
def test_bad_input_is_one_line_and_code_2(flags, refused, files, monkeypatch):
    monkeypatch.chdir(files)
    before = sorted(os.listdir(files))
    refused(*flags)
    assert sorted(os.listdir(files)) == before


@pytest.mark.parametrize(
    "flag", "draft adapter_dir memory_dir ckpt_dir model_dir routing_strategy trace image voice".split()
)
def test_an_empty_value_is_a_variable_that_nobody_set(flag, refused):
    for given in (f"--{flag}", ""), (f"--{flag}=",), (f"--{flag.replace('_', '-')}", ""):
        assert f"--{flag}: its value is empty" in refused("--text", "hi", *given, ckpt=False)


def test_bad_checkpoints(refused, nano_text_dir, files, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    for folder in (files / "absent", files / "red.png", files, tmp_path):
        refused("--text", "hi", "--ckpt_dir", folder, ckpt=False)
    for flags in (("--image", files / "red.png"), ("--audio_in", files / "tone.wav")):
        line = refused(*flags, "--ckpt_dir", nano_text_dir, ckpt=False)
        assert "text-only" in line
    out = tmp_path / "o.wav"
    out.write_bytes(b"old")
    refused("--say", "a", "--audio_out", out, "--ckpt_dir", nano_text_dir, ckpt=False)
    assert out.read_bytes() == b"old"


def test_bad_input_as_a_process(chat, files):
    done = chat("--image", files / "bad.png", "--text", "What?", code=2)
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("error: ")
