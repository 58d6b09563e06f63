"""Sentences said together sound as each alone."""

import threading

import numpy as np
import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference import Omni
from serving.speaking import Sentence, SpeechEngine

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

        sentence = Sentence(TEXTS[place], voice, 1.0, deliver)
        engine.say(sentence)
        return sentence

    say(0)
    say(1).cancelled = True
    say(2)
    ended[0].wait(30)
    say(3)  # into a row that others have used
    assert all(ended[place].wait(30) for place in (0, 2, 3))
    engine.close()
    assert None not in sounds[1]
    for place in (0, 2, 3):
        alone, _ = omni.speak(TEXTS[place])
        assert sounds[place].pop() is None
        np.testing.assert_allclose(np.concatenate(sounds[place]), alone, atol=1e-4)
