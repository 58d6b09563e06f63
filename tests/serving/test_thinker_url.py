"""The Thinker in vLLM: the same greedy answers as here, of words, a picture and a recording.

Needs vLLM in a Python of its own: VLLM_PYTHON=/path/to/venv/bin/python (docs/scale.md).
"""

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference import Omni
from inference.prompt import Prompt
from models.errors import UserError
from serving.engine import End, Job, Token
from serving.remote import RemoteEngine, scored, tokens_of
from tests.inference.turns import first_turn

ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("VLLM_PYTHON")
STARTS = 240  # seconds that vLLM may take


@pytest.fixture(scope="module")
def omni():
    return Omni.from_pretrained()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thinker")
    subprocess.run([sys.executable, "-m", "export.vllm", "--out", folder], cwd=ROOT, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", folder, "--port"]
    command += [str(port), "--host", "127.0.0.1", "--enable-prompt-embeds", "--dtype", "float32"]
    command += ["--max-model-len", "1024", "--enforce-eager", "--max-num-seqs", "16"]
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=os.environ | quiet, stdout=log, stderr=log)
    try:
        end = time.monotonic() + STARTS
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/health")
                break
            except (URLError, ConnectionError):
                assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)


def answer(engine: RemoteEngine, prompt: Prompt, **settings) -> tuple[list[Token], End]:
    events, ended = [], threading.Event()

    def deliver(event: Token | End) -> None:
        events.append(event)
        if isinstance(event, End):
            ended.set()

    engine.submit(Job(prompt, engine.omni.config(**settings), deliver, top_logprobs=2))
    assert ended.wait(60)
    return events[:-1], events[-1]


@pytest.mark.skipif(not PYTHON, reason="no vLLM: set VLLM_PYTHON to a Python that has vllm-cpu")
def test_greedy_answers_are_those_made_here(omni, url):
    engine = RemoteEngine(omni, url)
    requests = (
        {"text": "What is a dog?"},
        {"text": "How many objects are there?", "image": ROOT / "examples/sample_image.png"},
        {"audio": ROOT / "examples/question.wav"},
    )
    for request in requests:
        prompt = first_turn(
            omni, request.get("text"), request.get("image"), request.get("audio"), None, None, omni.config()
        )
        tokens, end = answer(engine, prompt)
        assert end.reason == "stop"
        assert omni.tokenizer.decode([token.id for token in tokens]) == omni.chat(**request)
        assert all(token.logprob == max(score for _, score in token.top) for token in tokens)
    tokens, end = answer(engine, prompt, max_new_tokens=2)
    assert end.reason == "length" and len(tokens) == 2
    engine.close()


def test_no_vllm_is_one_line(omni):
    for url in ("http://127.0.0.1:9/v1", "nowhere", "http://host:99999/v1"):
        with pytest.raises(UserError, match="vLLM|no address"):
            RemoteEngine(omni, url)


def test_an_answer_that_breaks_off_is_none():
    event = b'data: {"choices": [{"token_ids": [7]}]}'
    assert list(tokens_of([event, b"", b"data: [DONE]\n"], None)) == [Token(7)]
    broken = tokens_of([event], None)
    assert next(broken) == Token(7)
    with pytest.raises(RuntimeError, match="broke off"):
        next(broken)


def test_what_waits_for_a_connection_ends_when_the_server_stops():
    """A thread that prepares would wait for it for ever."""
    engine, ended, open_ = RemoteEngine.__new__(RemoteEngine), [], threading.Event()
    engine.pool, engine.active = ThreadPoolExecutor(1), []
    engine._answer = lambda job: open_.wait(10)
    for _ in range(2):
        engine.submit(Job(Prompt([1]), None, ended.append))
    threading.Timer(0.2, open_.set).start()
    engine.close()
    assert [end.reason for end in ended] == ["error"]


def test_log_probabilities_are_read_by_token_ids():
    logprobs = {"token_logprobs": [-0.5], "top_logprobs": [{"token_id:7": -0.5, "token_id:9": -2.0}]}
    assert list(scored([7], logprobs)) == [Token(7, -0.5, [(7, -0.5), (9, -2.0)])]
    assert list(scored([7, 8], None)) == [Token(7), Token(8)]
