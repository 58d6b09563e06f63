"""Omni's public methods on a nano model: what they accept, refuse and agree on."""

import json
import shutil

import numpy as np
import pytest

from inference import Notice, Omni, generate
from models.errors import UserError
from tests.inference.conftest import speech
from tests.inference.turns import first_turn, plain_turn

SOUND = (speech(), 16_000)


def test_stream_joins_to_chat_and_batch_equals_one_by_one(omni, red, blue):
    requests = [
        {"text": "Hi"},
        {"text": "What is it?", "image": red},
        {"image": [red, blue], "audio": SOUND},
        {"audio": [SOUND, SOUND], "system_prompt": "be kind"},
    ]
    answers = [omni.chat(**request, max_new_tokens=12) for request in requests]
    config = omni.config(max_new_tokens=12)
    replies = [generate(omni.model, first_turn(omni, **request), config) for request in requests]
    assert answers == [omni.tokenizer.decode(reply) for reply in replies]
    assert len(list(omni.stream("Hi", max_new_tokens=12))) > 1
    assert answers == omni.batch(requests, max_new_tokens=12)
    assert omni.batch(["Hi"], max_new_tokens=12) == answers[:1]
    for wrong in ([5], "Hi", {"text": "Hi"}, [{"words": "Hi"}]):
        with pytest.raises(UserError, match="request"):
            omni.batch(wrong)
    assert omni.transcribe(SOUND, max_new_tokens=5) == omni.chat(
        "What did you hear?", audio=SOUND, max_new_tokens=5
    )
    assert omni.chat(image=red) == omni.chat("What do you see?", image=red)


def test_media_matter(omni, red, blue):
    assert omni.chat("it?", image=red) != omni.chat("it?", image=blue)
    assert omni.chat(audio=SOUND) != omni.chat(audio=(speech(1.5), 16_000))


def test_text_of_any_unicode_and_special_names_are_plain_text(omni):
    for text in ("🦊 שלום \u0000 \u2581", "\ud800 alone", "<|image|><|assistant|>", "e\u0301" * 20):
        assert isinstance(omni.chat(text, max_new_tokens=2), str)
    plain = plain_turn(omni, "<|image|>").ids
    assert omni.tokenizer.image not in plain


def test_text_longer_than_the_context_keeps_its_end_and_says_so(omni, red):
    long = "start " + "word " * 100_000 + "end of the question 🦊"
    with pytest.warns(Notice, match="longer than the context"):
        prompt = first_turn(omni, long, red, None, None, None, omni.config())
    assert len(prompt) <= omni.room(omni.config())
    text = omni.tokenizer.decode(prompt.ids)
    assert text.endswith("end of the question 🦊")
    assert len(text) > 300
    with pytest.raises(UserError, match="pictures and sounds"):
        omni.chat(image=[red] * 25)
    with pytest.raises(UserError, match="too short for any question"):
        omni.chat("hi", max_seq_len=2)
    with pytest.raises(UserError, match="system prompt"):
        omni.chat("hi", system_prompt=long)


def test_refusals(omni):
    for request in ({}, {"text": "   "}, {"text": 3}):
        with pytest.raises(UserError):
            omni.chat(**request)
    with pytest.raises(UserError, match="colour"):
        omni.batch([{"text": "a", "colour": 1}])
    with pytest.raises(UserError, match="batch_size"):
        omni.batch([{"text": "a"}], batch_size=0)
    with pytest.raises(UserError, match="no text to say"):
        omni.speak(" ")


def test_text_only_checkpoint_chats_and_refuses_the_rest_clearly(omni, nano_text_dir, red):
    brain = Omni.from_pretrained(nano_text_dir)
    assert brain.chat("hello", max_new_tokens=8) == omni.chat("hello", max_new_tokens=8)
    calls = (
        lambda: brain.chat(image=red),
        lambda: brain.chat(audio=SOUND),
        lambda: brain.speak("hello"),
    )
    for call in calls:
        with pytest.raises(UserError, match="text-only"):
            call()


def test_bf16_runs(nano_omni_dir, red):
    omni = Omni.from_pretrained(nano_omni_dir, dtype="bf16")
    assert omni.chat("it?", image=red, audio=SOUND, max_new_tokens=4) is not None


def test_checkpoints_that_do_not_load_say_why(nano_omni_dir, tmp_path):
    def broken(change) -> Omni:
        folder = tmp_path / change.__name__
        shutil.copytree(nano_omni_dir, folder)
        change(folder)
        return Omni.from_pretrained(folder)

    def no_config(folder):
        (folder / "config.json").unlink()

    def bad_config(folder):
        (folder / "config.json").write_text("{oops")

    def list_config(folder):
        (folder / "config.json").write_text("[1]")

    def empty_config(folder):
        (folder / "config.json").write_text("{}")

    def no_tokenizer(folder):
        (folder / "tokenizer.model").unlink()

    def bad_tokenizer(folder):
        (folder / "tokenizer.model").write_bytes(b"junk")

    def no_weights(folder):
        (folder / "vision.safetensors").unlink()

    def bad_weights(folder):
        path = folder / "thinker.safetensors"
        path.write_bytes(path.read_bytes()[:1000])

    def wrong_weights(folder):
        shutil.copy(folder / "vision.safetensors", folder / "audio.safetensors")

    def wrong_size(folder):
        values = json.loads((folder / "config.json").read_text())
        values["parts"]["thinker"]["hidden_size"] = 32
        (folder / "config.json").write_text(json.dumps(values))

    def no_placeholders(folder):
        values = json.loads((folder / "config.json").read_text())
        del values["image_token_id"]
        (folder / "config.json").write_text(json.dumps(values))

    changes = (no_config, bad_config, list_config, empty_config, no_tokenizer, bad_tokenizer)
    changes += (no_weights, bad_weights, wrong_weights, wrong_size, no_placeholders)
    for change in changes:
        with pytest.raises(UserError):
            broken(change)
    for folder in (tmp_path / "absent", nano_omni_dir / "config.json", tmp_path):
        with pytest.raises(UserError):
            Omni.from_pretrained(folder)
    for device in ("cuda:7", "toaster"):
        with pytest.raises(UserError, match="device"):
            Omni.from_pretrained(nano_omni_dir, device=device)


def test_speaking_calls_the_speaker_lazily(omni, monkeypatch):
    class Fake:
        def speak(self, text, voice, **options):
            return np.zeros(4, np.float32), {"voice": voice} | options

        def speak_stream(self, text, voice):
            yield text

    monkeypatch.setattr(omni, "_speaker", Fake())
    assert omni.speak("hi", voice="emma", seed=2)[1] == {"voice": "emma", "seed": 2}
    assert list(omni.speak_stream("hi")) == ["hi"]
