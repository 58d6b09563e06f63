"""The conversation's commands, line by line, on a nano model."""

import numpy as np
import pytest

from inference.config import GenerateConfig
from inference.output import write_audio
from inference.repl import Repl, read_paths
from models.errors import UserError
from tests.conftest import ROOT


@pytest.fixture
def repl(omni):
    return Repl(omni, None, {}, False, [], max_new_tokens=8)


def test_stats_on_prints_the_time_of_each_answer(repl, capsys):
    repl.handle("hello")
    assert "ms/token" not in capsys.readouterr().out
    repl.handle("/stats on")
    repl.handle("hello")
    out = capsys.readouterr().out
    assert "KV Cache usage:" in out
    assert "Prompt processing:" in out
    assert "LM head time: " in out
    repl.handle("/stats off")
    repl.handle("hello")
    assert "ms/token" not in capsys.readouterr().out


def test_set_changes_the_next_answers_and_keeps_the_chat(repl, omni):
    repl.handle("hello")
    position = repl.session.generator.position
    repl.handle("/set max_new_tokens 2")
    repl.handle("/set num_beams 2")
    assert type(repl.session.config.num_beams) is int
    repl.handle("hello")
    repl.handle("/set num_beams 1")
    repl.handle("/set temperature 0.7")
    repl.handle("/set top_k off")
    config = repl.session.config
    assert (config.max_new_tokens, config.temperature, config.top_k) == (2, 0.7, None)
    repl.handle("again")
    assert len(repl.session.turns[-1].reply) <= 2
    assert repl.session.generator.position > position


@pytest.mark.parametrize(
    "line",
    [
        "/set temperature",
        "/set temperature hot",
        "/set temperature -1",
        "/set eos 3",
        "/set cache_kind q8_0",
        "/stats maybe",
    ],
)
def test_mistakes_are_refused(repl, line):
    before = repl.session.config
    with pytest.raises(UserError):
        repl.handle(line)
    assert repl.session.config == before


def test_a_dropped_file_is_told_from_a_command(repl, tmp_path):
    (tmp_path / "photo.png").write_bytes(b"")
    with pytest.raises(UserError, match="/image, /audio or /video before"):
        repl.handle(str(tmp_path / "photo.png"))


def test_a_name_may_have_blanks(repl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    repl.handle("/save my chat.txt")
    assert (tmp_path / "my chat.txt").exists()
    repl.handle("hello")
    repl.handle("/trace my page.html")
    assert (tmp_path / "my page.html").exists()


def test_who_showed_a_broken_file_knows_what_waits(repl, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    for name in (ROOT / "examples" / "sample_image.png", tmp_path / "broken.png"):
        repl.handle(f"/image {name}")
    with pytest.raises(UserError, match="no file waits any more"):
        repl.handle("What is this?")
    assert not any(repl.waiting.values())


def test_commands_and_switches_are_read_in_any_case(repl, capsys):
    repl.handle("/Help")
    assert "/image PATH" in capsys.readouterr().out
    repl.handle(f"/IMAGE {ROOT / 'examples' / 'sample_image.png'}")
    assert len(repl.waiting["image"]) == 1
    repl.handle("/Set Top_K 3")
    repl.handle("/set vad OFF")
    repl.handle("/Think Off")
    repl.handle("/STATS On")
    config = repl.session.config
    assert (config.top_k, config.vad, config.think, repl.timed) == (3, False, False, True)
    repl.handle("/set top_k Off")
    repl.handle("/set stop_strings OK")  # a text stays as typed
    assert (repl.session.config.top_k, repl.session.config.stop_strings) == (None, ("OK",))


def test_names_of_a_file_manager_are_read_whole():
    for typed, path in (
        ("file:///a/b%20c.png", "/a/b c.png"), ("file://localhost/a.png", "/a.png"),
        ("file:///a/#1?.png", "/a/#1?.png"), ("file://[abc", "[abc"),
    ):
        assert read_paths(typed) == [path]


def test_ctrl_c_stops_what_runs_and_the_chat_goes_on(repl, monkeypatch, capsys):
    class Sink:
        dropped = 0

        def drop(self):
            self.dropped += 1

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    sink = Sink()
    repl.sinks = [sink]
    typed = iter(["/say Hello.", "hello", "exit"])
    monkeypatch.setattr("inference.repl.line_reader", lambda: lambda _: next(typed))
    monkeypatch.setattr(repl.omni, "speak", interrupted)  # in the middle of /say
    monkeypatch.setattr(repl.omni, "take", interrupted)  # while media are read
    repl.run()
    assert sink.dropped == 2 and next(typed, None) is None
    monkeypatch.undo()
    silence = repl.session.stream(audio=(np.zeros(16_000, np.float32), 16_000))
    silence.close()  # an answer that nobody made can be stopped, too


def test_a_tab_parts_a_command_from_its_words(repl, capsys):
    repl.handle("/set\tmax_new_tokens 5")
    assert repl.session.config.max_new_tokens == 5


@pytest.mark.parametrize("words", ["cache_kind q8_0", "native on", "nothing", "max_seq_len off"])
def test_what_cannot_be_set_is_not_asked_for_as_a_number(repl, words):
    with pytest.raises(UserError, match=f"cannot set {words.split()[0]}: there are ctc_weight"):
        repl.handle(f"/set {words}")


def test_what_waits_to_be_heard_is_not_written_over(repl, tmp_path):
    repl.handle("hello")
    write_audio(tmp_path / "a.wav", np.zeros(16_000, np.float32), 16_000)
    before = (tmp_path / "a.wav").read_bytes()
    repl.handle(f"/audio {tmp_path}/a.wav")
    with pytest.raises(UserError, match="would be lost"):
        repl.handle(f"/save {tmp_path}/./a.wav")
    assert (tmp_path / "a.wav").read_bytes() == before


def test_the_chosen_voice_speaks(repl, omni, monkeypatch):
    asked = []
    silence = np.zeros(160, np.float32), 16_000
    monkeypatch.setattr(omni, "speak", lambda text, **given: asked.append(given) or silence)
    name = omni.speaker.voices[1]
    repl.handle("/say Hello")
    repl.handle(f"/voice {name}")
    assert repl.spoken is None
    repl.handle("/say Hello")
    assert asked == [{}, {"voice": name}]


def test_reset_forgets_waiting_files_too(repl):
    repl.handle("hello")
    repl.handle(f"/image {ROOT / 'examples' / 'sample_image.png'}")
    repl.spoken = np.zeros(160, np.float32), 16_000
    assert repl.waiting["image"] and repl.session.messages
    repl.handle("/reset")
    assert not any(repl.waiting.values()) and not repl.session.messages and repl.spoken is None


def test_save_overwrites_no_file_that_the_chat_was_shown(repl, tmp_path):
    path = tmp_path / "mine.wav"
    write_audio(path, 0.1 * np.sin(np.arange(16_000) / 9).astype(np.float32), 16_000)
    before = path.read_bytes()
    repl.handle(f"/audio {path}")
    repl.handle("what did you hear?")
    repl.handle("/reset")
    repl.handle("hello")
    repl.spoken = np.zeros(9, np.float32), 16_000
    with pytest.raises(UserError, match="lost"):
        repl.save(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["temperature", "max_new_tokens", "ctc_weight", "repetition_penalty"])
def test_off_is_what_a_setting_is_at_first(repl, name, capsys):
    usual = getattr(GenerateConfig(), name)
    repl.handle(f"/set {name} {1 if name != 'ctc_weight' else 0.5}")
    repl.handle(f"/set {name} off")
    assert getattr(repl.session.config, name) == usual
    repl.handle("/set num_beams off")
    repl.handle("/set think off")
    out = capsys.readouterr().out
    assert "num_beams is off from now on" in out and "think is off from now on" in out
