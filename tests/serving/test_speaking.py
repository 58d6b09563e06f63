"""Sentences said together sound as each alone."""

import asyncio
import os
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference import Omni
from inference.normalisation import normalise
from models.errors import UserError
from serving.errors import ApiError
from serving.service import Service, Speech
from serving.speaking import CAPACITY, LETTERS, NICE, Sentence, SpeechEngine, breaths

TEXTS = ("A dog is a friendly animal that barks.", "Yes.", "The sun gives us light.", "Hello there.")


def test_together_is_alone_and_a_cancelled_one_disturbs_nobody():
    omni = Omni.from_pretrained()
    engine = SpeechEngine(omni)
    engine.start()
    voice = omni.speaker.voices[0]
    ended = [threading.Event() for _ in TEXTS]
    sounds: list[list] = [[] for _ in TEXTS]

    def say(place: int) -> Sentence:
        def deliver(chunk) -> None:
            sounds[place].append(chunk)
            if not isinstance(chunk, np.ndarray):
                ended[place].set()

        sentence = Sentence(normalise(TEXTS[place]), voice, 1.0, deliver)
        engine.say(sentence)
        return sentence

    say(0)
    say(1).cancelled = True
    say(2)
    ended[0].wait(30)
    say(3)  # into a row that others have used
    assert all(ended[place].wait(30) for place in (0, 2, 3))
    assert not engine.rows.active, "nobody is left behind"
    engine.close()
    assert None not in sounds[1]
    for place in (0, 2, 3):
        alone, _ = omni.speak(TEXTS[place])
        assert sounds[place].pop() is None
        np.testing.assert_allclose(np.concatenate(sounds[place]), alone, atol=1e-4)


def test_numbers_that_grow_when_read_out_are_said_in_parts():
    omni = Omni.from_pretrained()
    for text in ("I had 1,999,999 dollars and 1,888,888 euros, " * 6, "99999 " * 40, "A dog."):
        for speed in (0.5, 1.0, 2.0):
            words = normalise(text)
            parts = list(breaths(words, speed))
            assert sum(parts, []) == words
            assert all(sum(map(len, part)) + len(part) <= LETTERS * speed + 1 for part in parts)
    for part in breaths(normalise("99999 " * 40), 0.5):
        sentence = Sentence(part, omni.speaker.voices[0], 0.5, print)
        sentence.read(omni.speaker)
        assert len(sentence.condition) <= CAPACITY


def test_what_cannot_be_said_is_passed_over():
    async def run() -> list:
        said = []

        async def record(words, how):
            said.append(words)
            yield how

        service = SimpleNamespace(_said=record)
        for sentence in ("🙂", "Yes.", "你好。", "No."):
            async for _ in Service.speak(service, sentence, Speech("heart", 1.0)):
                pass
        return said

    assert asyncio.run(run()) == [["yes", "."], ["no", "."]]


@pytest.mark.parametrize(
    ("wrong", "param"), [(("nobody", 1.0), "audio.voice"), ((None, 9.0), "audio.speed")]
)
def test_what_is_wrong_with_a_voice_or_a_speed_is_named(wrong, param):
    async def loaded() -> None:
        pass

    service = SimpleNamespace(omni=Omni.from_pretrained(), voices=loaded)
    with pytest.raises(ApiError) as caught:
        asyncio.run(Service.speech(service, *wrong, "audio."))
    assert caught.value.param == param


def test_a_sentence_that_is_too_long_ends_alone_and_words_go_before_sound():
    omni = Omni.from_pretrained()
    engine = SpeechEngine(omni)
    engine.start()
    said: dict[str, list] = {"long": [], "short": []}
    done = {name: threading.Event() for name in said}
    for name, text in (("long", "99999 " * 40), ("short", "Hello there.")):
        def deliver(chunk, name=name) -> None:
            said[name].append(chunk)
            if not isinstance(chunk, np.ndarray):
                done[name].set()

        engine.say(Sentence(normalise(text), omni.speaker.voices[0], 1.0, deliver))
    assert all(event.wait(30) for event in done.values())
    if sys.platform == "linux":
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        priorities = {os.getpriority(os.PRIO_PROCESS, thread.native_id) for thread in engine.threads}
        assert priorities == {min(19, ours + NICE)}
    engine.close()
    assert isinstance(said["long"][0], UserError) and said["short"][-1] is None
