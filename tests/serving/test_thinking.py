"""Turns that are thought about together are those of `Omni`, and the answer goes on from their cache."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference import Omni
from serving.engine import End, Engine, Job
from serving.thinking import ThinkingEngine
from tests.conftest import ROOT

IMAGE, SOUND = ROOT / "examples" / "sample_image.png", ROOT / "examples" / "question.wav"
MEDIA = ({"image": IMAGE}, {"audio": SOUND}, {"image": IMAGE, "audio": SOUND}, {})


@pytest.fixture(scope="module")
def omni() -> Omni:
    return Omni.from_pretrained()


@pytest.fixture
def engines(omni):
    engine = Engine(omni)
    thinking = ThinkingEngine(omni, engine)
    for one in (engine, thinking):
        one.start()
    yield engine, thinking
    engine.close()
    thinking.close()


def taken(omni: Omni, media: dict):
    return omni.take(None if "audio" in media else "How many things are there?", **media)


def test_turns_are_those_of_omni(omni, engines):
    config = omni.config()
    room = omni.room(config)
    with ThreadPoolExecutor(len(MEDIA)) as pool:
        turns = list(pool.map(lambda media: engines[1].turn(taken(omni, media), config, room), MEDIA))
    for media, turn in zip(MEDIA, turns, strict=True):
        (wanted,) = omni.turns([taken(omni, media)], config, room)
        assert turn.ids == wanted.ids and turn.asked is None
        assert (omni.tokenizer.think_end in turn.ids) == bool(media)


def test_the_answer_goes_on_from_what_thinking_read(omni, engines):
    config, ended = omni.config(max_new_tokens=4), threading.Event()
    turn = engines[1].turn(taken(omni, MEDIA[0]), config, omni.room(config))
    job = Job(
        omni.head(None, config) + turn, config, lambda event: ended.set() if isinstance(event, End) else None
    )
    engines[0].submit(job)
    assert ended.wait(30)
    assert job.cached >= len(job.prompt) - 2


def test_without_thinking_nothing_is_written(omni, engines):
    config = omni.config(think=False)
    turn = engines[1].turn(taken(omni, MEDIA[0]), config, omni.room(config))
    assert omni.tokenizer.think not in turn.ids


def test_a_stopped_engine_takes_no_job(omni):
    """A thread that prepares would wait for its end for ever."""
    engine = Engine(omni)
    engine.start()
    engine.close()
    with pytest.raises(RuntimeError, match="stops"):
        engine.submit(Job(omni.head(None, omni.config()), omni.config(), print))
