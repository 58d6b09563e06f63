"""The server as the official `openai` client calls it: greedy answers are `Omni`'s."""

import asyncio
import base64
import io
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import av
import numpy as np
import pytest
import soundfile
import torch
from torchaudio.functional import resample

from inference import Omni
from inference.config import GenerateConfig
from inference.media import load_audio

HINT = "pip install -r requirements-dev.txt"
openai = pytest.importorskip("openai", reason=f"no openai: {HINT}")
pytest.importorskip("serving.app", reason=f"the server lacks a package: {HINT}")
websockets = pytest.importorskip("websockets.sync.client", reason=f"no websockets: {HINT}")

ROOT = Path(__file__).resolve().parents[2]
IMAGE, CLIP = ROOT / "examples" / "sample_image.png", ROOT / "examples" / "sample_audio.wav"
QUESTION = ROOT / "examples" / "question.wav"
KEY = "a secret"
RATE = 24_000  # Hz, of sound over the realtime API


@pytest.fixture(scope="module")
def address():
    """A server on a free port, with a key; killed at the end."""
    command = [sys.executable, "serve.py", "--port", "0", "--api_key", KEY]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        yield re.search(r"http://[^/]+", line).group(0)
    finally:
        server.terminate()
        assert server.wait(30) in (0, -15)


@pytest.fixture(scope="module")
def client(address):
    return openai.OpenAI(base_url=f"{address}/v1", api_key=KEY, max_retries=0)


@pytest.fixture(scope="module")
def omni():
    return Omni.from_pretrained()


def realtime(address: str) -> str:
    return f"{address.replace('http', 'ws')}/v1/realtime?model=muomni"


def uri(path: Path, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def ask(client, content, **settings):
    return client.chat.completions.create(
        model="muomni", messages=[{"role": "user", "content": content}], **settings
    )


def seen(question: str) -> list[dict]:
    return [
        {"type": "image_url", "image_url": {"url": uri(IMAGE)}},
        {"type": "text", "text": question},
    ]


def test_answers_are_those_of_omni(client, omni):
    texts = ["What is a dog?", "Hello", "What is 3 plus 4?"]
    with ThreadPoolExecutor(4) as pool:  # together: rows of one decode loop
        said = list(pool.map(lambda text: ask(client, text).choices[0].message.content, texts))
        picture = pool.submit(ask, client, seen("How many objects are there?")).result()
    assert said == [omni.chat(text) for text in texts]
    wanted = omni.chat("How many objects are there?", image=IMAGE)
    assert picture.choices[0].message.content == wanted
    assert picture.usage.total_tokens == picture.usage.prompt_tokens + picture.usage.completion_tokens


def test_a_stream_is_the_answer_in_pieces_and_ends_with_its_usage(client, omni):
    chunks = list(ask(client, "Hello", stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == omni.chat("Hello") and chunks[-1].usage.completion_tokens > 1


def test_a_second_turn_reads_only_what_is_new(client):
    messages = [{"role": "user", "content": "What is a dog?"}]
    first = client.chat.completions.create(model="muomni", messages=messages)
    messages += [first.choices[0].message.model_dump(include={"role", "content"})]
    messages += [{"role": "user", "content": "And a cat?"}]
    second = client.chat.completions.create(model="muomni", messages=messages)
    assert second.usage.prompt_tokens_details.cached_tokens > first.usage.prompt_tokens


def test_silence_is_answered_as_such_and_has_no_transcript(client, tmp_path):
    soundfile.write(tmp_path / "quiet.wav", np.zeros(32_000), 16_000)
    data = (tmp_path / "quiet.wav").read_bytes()
    sound = {"data": base64.b64encode(data).decode(), "format": "wav"}
    messages = [{"role": "user", "content": [{"type": "input_audio", "input_audio": sound}]}]
    first = client.chat.completions.create(model="muomni", messages=messages).choices[0].message.content
    assert first == "I hear no speech."
    scored = client.chat.completions.create(model="muomni", messages=messages, logprobs=True)
    assert {one.logprob for one in scored.choices[0].logprobs.content} == {0.0}
    with pytest.raises(openai.BadRequestError, match="nobody speaks"):  # not the turn before
        hello = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
        client.post("/trace", body={"messages": hello + messages}, cast_to=str)
    messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "Hello"}]
    second = client.chat.completions.create(model="muomni", messages=messages).choices[0].message.content
    assert second == ask(client, "Hello").choices[0].message.content  # as if it had not been
    with open(tmp_path / "quiet.wav", "rb") as file:
        heard = client.audio.transcriptions.create(
            model="muomni", file=file, response_format="verbose_json",
            timestamp_granularities=["word", "segment"],
        )
    assert (heard.text, heard.words, heard.segments) == ("", [], []) and abs(heard.duration - 2) < 0.01


def test_speech_in_and_out(client, omni):
    sound = {"data": base64.b64encode(QUESTION.read_bytes()).decode(), "format": "wav"}
    reply = ask(
        client, [{"type": "input_audio", "input_audio": sound}], modalities=["text", "audio"],
        audio={"voice": "fenrir", "format": "wav"},
    ).choices[0].message
    assert reply.audio.transcript == omni.chat(audio=QUESTION)
    wave, rate = soundfile.read(io.BytesIO(base64.b64decode(reply.audio.data)))
    assert rate == 16_000 and abs(wave).max() > 0.05
    with CLIP.open("rb") as file:
        heard = client.audio.transcriptions.create(model="muomni", file=file)
    assert heard.text == omni.transcribe(CLIP)
    with CLIP.open("rb") as file:
        (one, *_) = client.audio.transcriptions.create(
            model="muomni", file=file, response_format="verbose_json"
        ).segments
    assert omni.tokenizer.decode(one.tokens) == one.text and one.temperature == 0.0
    assert -1 < one.avg_logprob < 0 < one.compression_ratio


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3", "opus"])
def test_speech_is_written_in_every_format(client, kind):
    said = client.audio.speech.create(
        model="muomni", voice="fenrir", input="Hello world.", response_format=kind
    )
    # FFmpeg, as players do: a FLAC that is sent while it is made cannot say how long it will be.
    with av.open(io.BytesIO(said.content)) as file:
        frames = list(file.decode(audio=0))
    seconds = sum(frame.samples / frame.sample_rate for frame in frames)
    assert 0.5 < seconds < 3
    assert max(abs(frame.to_ndarray()).max() for frame in frames) > 0.05


def test_choices_are_drawn_by_the_seed(client):
    story = "Tell me a story about a fox."
    drawn = [
        [c.message.content for c in ask(client, story, n=2, temperature=1.5, seed=s).choices]
        for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2] and all(len(texts) == 2 for texts in drawn)
    scored = ask(client, "Hi", logprobs=True, top_logprobs=2).choices[0]
    best = scored.logprobs.content[0]
    assert best.logprob == max(top.logprob for top in best.top_logprobs) <= 0


def test_scores_change_no_transcript():
    """What was heard is kept for later requests: it is searched for alike, with and without logprobs."""
    from serving.chat import ask as make_prompt
    from serving.schema import ChatBody

    found = []

    class Listening:
        hears, spoken = True, {}

        def config(self, settings):
            return GenerateConfig(**settings)

        async def work(self, worker, function, *args):
            return function(*args)

        async def prepare(self, system, turns, config):
            found.append(config)

    body = ChatBody(model="muomni", messages=[{"role": "user", "content": "Hi"}], logprobs=True)
    asked = asyncio.run(make_prompt(Listening(), body))
    assert (found[0].num_beams, asked.config.num_beams) == (None, 1)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}}], 400),
        ([{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}], 400),
        ([{"type": "image_url", "image_url": {"url": uri(CLIP)}}], 400),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}], 400),
        ([{"type": "telepathy"}], 400),
    ],
)
def test_bad_media_are_errors_in_the_apis_shape(client, content, code):
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, content)
    assert caught.value.status_code == code and caught.value.body["message"]
    assert ask(client, "Hello").choices[0].message.content  # nobody else is disturbed


def test_who_may_ask(address):
    wrong = openai.OpenAI(base_url=f"{address}/v1", api_key="another", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        wrong.models.list()
    headers = {"Authorization": f"Bearer {KEY}", "Origin": "http://elsewhere.example"}
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(f"{address}/v1/models", headers=headers))
    assert json.load(urlopen(f"{address}/health")) == {"status": "ok"}
    with pytest.raises(websockets.InvalidStatus, match="403"):
        websockets.connect(realtime(address), additional_headers=headers)
    assert "μOmni" in urlopen(f"{address}/").read().decode()


def test_a_spoken_turn_over_the_realtime_api(address, omni):
    """Sound in, found by voice activity; its transcript and a spoken answer out."""
    wave = resample(torch.from_numpy(load_audio(QUESTION)), 16_000, RATE)  # (samples,)
    pcm = (wave.clamp(-1, 1) * 32_767).numpy().astype("<i2").tobytes()
    pcm += bytes(2 * RATE)  # a second of silence ends the turn
    events: list[dict] = []
    headers = {"Authorization": f"Bearer {KEY}"}
    with websockets.connect(realtime(address), additional_headers=headers, max_size=2**24) as socket:
        for start in range(0, len(pcm), RATE // 5):  # 100 ms each
            sound = base64.b64encode(pcm[start : start + RATE // 5]).decode()
            socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": sound}))
        while not events or events[-1]["type"] != "response.done":
            events.append(json.loads(socket.recv(timeout=30)))
    kinds = [event["type"] for event in events]
    assert kinds[0] == "session.created" and "error" not in kinds
    assert kinds.index("input_audio_buffer.speech_started") < kinds.index("response.created")
    heard = next(e for e in events if e["type"].endswith("input_audio_transcription.completed"))
    assert heard["transcript"].lower().rstrip("?.") == omni.transcribe(QUESTION).lower().rstrip("?.")
    said = b"".join(
        base64.b64decode(e["delta"]) for e in events if e["type"] == "response.output_audio.delta"
    )
    assert len(said) > RATE  # half a second and more


@pytest.mark.parametrize("flag", [("--max_queue", "-1"), ("--api_key", "schlüssel"), ("--api_key", "a\nb")])
def test_a_wrong_flag_is_one_line(flag):
    """A key that is not ASCII could never match: clients cannot send it."""
    run = subprocess.run(
        [sys.executable, "serve.py", *flag, "--port", "0"], cwd=ROOT, capture_output=True, text=True,
        timeout=60,
    )
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and flag[0] in run.stderr
