"""Flags of the command line: each changes what it is for, on an untrained nano omni-model."""

import json
import warnings

import pytest
import soundfile
import torch

import infer_chat
from inference import Omni
from inference.media import load_audio
from inference.speculative.draft import PromptLookup
from inference.subtitles import Segment
from models.lora import LoraConfig, adapted, add_lora, save_lora
from models.thinker import Thinker
from tests.inference.conftest import speech

RATE = 16_000
VALUES = {  # field of GenerateConfig -> flags, the value that they ask for
    "max_new_tokens": ("--max_new_tokens 9", 9),
    "think": ("--no_think", False),
    "temperature": ("--temperature 0.5", 0.5),
    "num_beams": ("--num_beams 3", 3),
    "ctc_weight": ("--ctc_weight 0.25", 0.25),
    "top_k": ("--top_k 7", 7),
    "top_p": ("--top_p 0.8", 0.8),
    "min_p": ("--min_p 0.1", 0.1),
    "repetition_penalty": ("--repetition_penalty 1.2", 1.2),
    "do_sample": ("--do_sample", True),
    "vad": ("--no_vad", False),
    "video_sound": ("--no_video_sound", False),
    "stop_strings": ("--stop_strings cat dog", ["cat", "dog"]),
    "seed": ("--seed 5", 5),
    "prefill_chunk": ("--prefill_chunk 4", 4),
    "native": ("--native off", "off"),
    "cache_kind": ("--cache_kind q8_0", "q8_0"),
    "max_seq_len": ("--max_context_length 64", 64),
    "cache_budget_mb": ("--cache_kind auto --cache_budget_mb 3", 3.0),
    "cache_plan_path": ("--cache_kind auto --cache_plan plan.json", "plan.json"),
    "decode_plan": ("--decode_plan fixed", "fixed"),
    "decode_table": ("--decode_plan fixed --decode_table 20:0:0,max:0:6", "20:0:0,max:0:6"),
}
SEGMENTS = [Segment(0.5, 2.25, "One & two"), Segment(3.0, 61.5, "three")]
TRANSCRIPTS = {
    ".srt": "1\n00:00:00,500 --> 00:00:02,250\nOne & two\n\n2\n00:00:03,000 --> 00:01:01,500\nthree\n",
    ".vtt": "WEBVTT\n\n00:00:00.500 --> 00:00:02.250\nOne &amp; two\n\n"
    "00:00:03.000 --> 00:01:01.500\nthree\n",
    ".txt": "One & two\nthree\n",
}


@pytest.fixture
def chat(nano_omni_dir, capsys):
    """Run in this process; returns what is printed."""

    def run(*flags: str):
        assert infer_chat.main(["--ckpt_dir", str(nano_omni_dir), *map(str, flags)]) == 0
        return capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def omni(nano_omni_dir):
    return Omni.from_pretrained(nano_omni_dir)


@pytest.fixture
def asked(omni, monkeypatch):
    """What `Omni.stream` is called with, and on which model; nothing is loaded or computed."""
    found = {}

    def stream(self, text, **given):
        found.update(given, omni=self)
        return iter(["yes"])

    monkeypatch.setattr(Omni, "from_pretrained", lambda *_: omni)
    monkeypatch.setattr(Omni, "stream", stream)
    return found


@pytest.fixture
def segments(omni, monkeypatch):
    """What `Omni.segments` is called with; SEGMENTS is what it hears."""
    found = {}

    def heard(self, source, progress=None, **given):
        found.update(given, source=source)
        return iter(SEGMENTS)

    monkeypatch.setattr(Omni, "from_pretrained", lambda *_: omni)
    monkeypatch.setattr(Omni, "segments", heard)
    return found


@pytest.fixture
def recording(tmp_path):
    soundfile.write(tmp_path / "talk.wav", speech(seconds=2.0), RATE)
    return tmp_path / "talk.wav"


@pytest.mark.parametrize("name", VALUES)
def test_a_setting_reaches_the_model(name, chat, asked):
    flags, value = VALUES[name]
    assert infer_chat.build_parser().get_default(name) != value
    assert chat("--text", "hi", *flags.split()).out == "yes\n"
    assert asked[name] == value


def test_every_setting_is_tried():
    assert set(VALUES) == set(infer_chat.SETTINGS)


def test_a_setting_reaches_transcripts(chat, segments, recording):
    chat("--audio_in", recording, "--timestamps", "--ctc_weight", "0.25", "--no_vad")
    assert segments["ctc_weight"] == 0.25 and segments["vad"] is False
    assert segments["source"] == str(recording)


def test_a_limit_cuts_a_recording(chat, asked, recording):
    for flags, samples in ((), 2 * RATE), (("--limit", "max_seconds=1"), RATE):
        chat("--audio_in", recording, *flags)
        with warnings.catch_warnings(action="ignore"):
            assert len(load_audio(asked["audio"][0], asked["omni"].limits)) == samples


def test_a_draft_guesses(chat, asked):
    chat("--text", "hi", "--draft", "lookup", "--spec_k", 3)
    omni = asked["omni"]
    made = omni.generator(omni.config())
    assert isinstance(made.draft, PromptLookup) and made.config.spec_k == 3


def test_an_adapter_changes_the_answer(chat, nano_omni_dir, tmp_path):
    torch.manual_seed(0)
    thinker = add_lora(Thinker.from_pretrained(nano_omni_dir, "thinker"), LoraConfig())
    for module in adapted(thinker).values():
        torch.nn.init.normal_(module.lora_B.weight, std=0.3)
    save_lora(thinker, tmp_path)
    flags = ("--text", "hi", "--max_new_tokens", 8)
    assert chat(*flags).out != chat(*flags, "--adapter_dir", tmp_path).out


def test_a_memory_bank_is_attached_with_its_strategy(chat, asked, monkeypatch, tmp_path):
    attached = []
    monkeypatch.setattr("inference.memory.attach_memory", lambda omni, *rest: attached.append(rest))
    chat("--text", "hi", "--memory_dir", tmp_path, "--routing_strategy", "token")
    assert attached == [(str(tmp_path), "token")]


def test_timestamps_are_printed(chat, segments, recording):
    lines = chat("--audio_in", recording, "--timestamps").out.splitlines()
    assert lines == [
        "[00:00:00.500 --> 00:00:02.250] One & two",
        "[00:00:03.000 --> 00:01:01.500] three",
    ]


@pytest.mark.parametrize("ending", TRANSCRIPTS)
def test_a_transcript_is_written(ending, chat, segments, recording, tmp_path):
    out = tmp_path / f"talk{ending}"
    printed = chat("--audio_in", recording, "--transcript_out", out)
    assert printed.out == "One & two\nthree\n" and f"wrote {out}: 2 segments" in printed.err
    assert out.read_text(encoding="utf-8") == TRANSCRIPTS[ending]
    assert segments["word_times"] is False


def test_a_transcript_in_json_asks_for_the_times_of_words(chat, segments, recording, tmp_path):
    chat("--audio_in", recording, "--transcript_out", tmp_path / "talk.json")
    found = json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))
    assert found["text"] == "One & two three"
    assert [(s["start"], s["end"]) for s in found["segments"]] == [(0.5, 2.25), (3.0, 61.5)]
    assert segments["word_times"] is True
