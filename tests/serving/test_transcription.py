"""The form of a transcription: what is wrong with it is told by its field, before anything is heard."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from starlette.testclient import TestClient

from inference.omni import SHIPPED
from inference.subtitles import Segment, Word
from models.tokenizer import Tokenizer
from serving.app import create_app
from serving.metrics import Metrics

SAID = Segment(1.25, 3.0, "Hello, hello.", (
    Word("Hello,", 1.25, 2.0, (-0.5, -0.1)), Word("hello.", 2.0, 3.0, (0.0,)),
))
WRONG = {
    "warm": ({"temperature": "1.5"}, "temperature"),
    "cold": ({"temperature": "-0.1"}, "temperature"),
    "no number": ({"temperature": "hot"}, "temperature"),
    "not a number": ({"temperature": "nan"}, "temperature"),
    "no format": ({"response_format": "xml"}, "response_format"),
    "no times": (
        {"response_format": "verbose_json", "timestamp_granularities[]": "letter"}, "timestamp_gran",
    ),
    "times nowhere": ({"timestamp_granularities[]": ["word", "segment"]}, "timestamp_granularities"),
    "logprobs": ({"include[]": "logprobs"}, "include[]"),
    "unknown": ({"magic": "1"}, "magic"),
    "French": ({"language": "fr"}, "language"),
    "a stream": ({"stream": "true"}, "stream"),
}


class Hearing:
    """A service whose model always hears the same."""

    hears, metrics = True, Metrics()
    omni = SimpleNamespace(tokenizer=Tokenizer(SHIPPED / "tokenizer.model"))

    def place(self):
        return nullcontext()

    async def work(self, worker, function, *args):
        return [SAID], 4.0


@pytest.fixture(scope="module")
def client():
    return TestClient(create_app(Hearing(), None, False))


def ask(client, fields: dict, files: dict | None = None):
    files = {"file": ("a.wav", b"RIFF")} if files is None else files
    return client.post("/v1/audio/transcriptions", data=fields, files=files)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_field_is_named(client, name):
    fields, param = WRONG[name]
    reply = ask(client, fields)
    error = reply.json()["error"]
    assert reply.status_code == 400 and error["type"] == "invalid_request_error"
    assert error["param"].startswith(param) and error["message"]


def test_so_are_a_missing_file_and_an_unknown_model(client):
    missing = ask(client, {}, {"prompt": ("a.txt", b"a")})
    assert missing.status_code == 400 and missing.json()["error"]["param"] in ("file", "prompt")
    other = ask(client, {"model": "whisper-1"})
    assert other.status_code == 404 and other.json()["error"]["param"] == "model"


@pytest.mark.parametrize("temperature", ["", "0", "0.0", "0.5", "1", "1e-05"])
def test_what_changes_nothing_is_let_through(client, temperature):
    reply = ask(client, {
        "model": "muomni", "language": "en", "prompt": "Names: Zoë.", "temperature": temperature,
        "stream": "false",
    })
    assert reply.json() == {"text": SAID.text, "usage": {"type": "duration", "seconds": 4.0}}


def test_a_segment_is_as_the_official_client_wants_it(client):
    """All but no_speech_prob: a segment is what voice activity took for speech, without a probability."""
    openai = pytest.importorskip("openai.types.audio", reason="no openai: requirements-dev.txt")
    fields = {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]}
    reply = ask(client, fields).json()
    (segment,) = reply["segments"]
    assert "no_speech_prob" not in segment
    reply["segments"] = [segment | {"no_speech_prob": 0.0}]
    whole = openai.TranscriptionVerbose.model_validate(reply)
    found = whole.segments[0]
    assert (found.id, found.seek, found.temperature) == (0, 125, 0.0)
    assert Hearing.omni.tokenizer.decode(found.tokens).strip() == SAID.text
    assert found.avg_logprob == pytest.approx(-0.2) and 0 < found.compression_ratio < 1
    assert [word.word for word in whole.words] == ["Hello,", "hello."]


@pytest.mark.parametrize("name, begins, time", [
    ("srt", "1\n", "00:00:01,250 --> 00:00:03,000\n"),
    ("vtt", "WEBVTT\n\n", "00:00:01.250 --> 00:00:03.000\n"),
])
def test_subtitles_have_the_times_of_segments(client, name, begins, time):
    answer = ask(client, {"response_format": name})
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == f"{begins}{time}Hello, hello.\n"
