"""serve: many clients at once, beside one alone; half of them leave; memory. Loopback only.

Starts `serve.py` in a process of its own and asks it as clients do, over HTTP.
"""

import base64
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
CLIENTS, REQUESTS = 32, 200
LEAVERS, EARLY, LATE = 16, 100, 1000  # clients of the memory test; requests after which it is read
QUESTIONS = (
    "What is a dog?", "Tell me about the sun.", "Who are you?", "What is the capital of France?",
    "Why is the sky blue?", "How do birds fly?", "What can you do?", "Tell me a joke.",
)
SECONDS = 120  # the longest that one request may take


@dataclass
class Took:
    """One request as its client saw it."""

    first: float  # seconds to the first word
    total: float
    tokens: int


def bench_serve(omni, rounds: int, tokens: int) -> dict[str, dict[str, float]]:
    """Rows: one client, many clients, their ratio, memory."""
    bodies = requests()
    with server(omni) as (port, pid):
        for body in bodies[:6]:  # everything is loaded and compiled
            ask(port, body)
        alone, alone_seconds = crowd(port, bodies[:24], 1)
        many, seconds = crowd(port, [bodies[i % len(bodies)] for i in range(REQUESTS)], CLIENTS)
        memory = {"mb_early": 0.0}
        texts = [body for body in bodies if body["kind"] == "text"]
        for count, name in ((EARLY, "mb_early"), (LATE - EARLY, "mb_late")):
            crowd(port, [texts[i % len(texts)] for i in range(count)], LEAVERS, leave=True)
            memory[name] = resident_mb(pid)
    one, all_ = figures(alone, alone_seconds), figures(many, seconds)
    return {
        "one client": one,
        f"{CLIENTS} clients": all_,
        "ratio": {
            "tokens_per_s": all_["tokens_per_s"] / one["tokens_per_s"],
            "first_word_p95_to_one_median": all_["first_word_p95"] / one["first_word"],
        },
        "memory": memory | {"growth": memory["mb_late"] / memory["mb_early"]},
    }


def figures(took: list[Took], seconds: float) -> dict[str, float]:
    firsts = sorted(one.first for one in took)
    return {
        "requests": len(took),
        "tokens_per_s": sum(one.tokens for one in took) / seconds,
        "first_word": statistics.median(firsts),
        "first_word_p95": firsts[int(0.95 * (len(firsts) - 1))],
        "seconds": seconds,
    }


def requests() -> list[dict]:
    """Text, a picture, a spoken answer, in turn."""
    picture = base64.b64encode((ROOT / "examples/sample_image.png").read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    made = []
    for text in QUESTIONS:
        plain = {"model": "muomni", "stream": True, "stream_options": {"include_usage": True}}
        said = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "pcm16"}}
        look = [image, {"type": "text", "text": "What do you see?"}]
        for kind, content, more in ("text", text, {}), ("picture", look, {}), ("speech", text, said):
            body = plain | {"messages": [{"role": "user", "content": content}]} | more
            made.append({"kind": kind, "data": json.dumps(body)})
    return made


@contextmanager
def server(omni):
    """A server of the same checkpoint -> its port and process id."""
    command = [sys.executable, "serve.py", "--port", "0", "--ckpt_dir", str(omni.folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if "http://" not in line:
            raise UserError("the server did not start: is requirements-serve.txt installed?")
        yield int(line.split("http://")[1].split("/")[0].rsplit(":", 1)[1]), process.pid
    finally:
        process.terminate()
        process.wait(30)


def crowd(
    port: int, bodies: list[dict], clients: int, leave: bool = False
) -> tuple[list[Took], float]:
    """Ask all, `clients` at a time; with `leave`, every second client goes after its first word."""
    begin = time.perf_counter()
    lock, places = threading.Lock(), iter(range(len(bodies)))

    def one(_: int) -> list[Took]:
        took = []
        while True:
            with lock:
                place = next(places, None)
            if place is None:
                return took
            took.append(ask(port, bodies[place], leave and place % 2 == 0))

    with ThreadPoolExecutor(clients) as pool:
        took = [one for each in pool.map(one, range(clients)) for one in each]
    return took, time.perf_counter() - begin


def ask(port: int, body: dict, leave: bool = False) -> Took:
    """One streamed request; what fails ends the bench."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    begin, first, tokens = time.perf_counter(), None, 0
    try:
        connection.request(
            "POST", "/v1/chat/completions", body["data"], {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        if response.status != 200:
            raise UserError(f"a request failed: {response.status} {response.read()[:200]!r}")
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if "error" in event:
                raise UserError(f"a request failed: {event['error']['message']}")
            delta = event["choices"][0]["delta"] if event["choices"] else {}
            if first is None and (delta.get("content") or delta.get("audio")):
                first = time.perf_counter() - begin
                if leave:
                    break
            if event.get("usage"):
                tokens = event["usage"]["completion_tokens"]
    finally:
        connection.close()
    return Took(first or 0.0, time.perf_counter() - begin, tokens)


def resident_mb(pid: int) -> float:
    """Memory that a process has in RAM, in 10^6 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise UserError("this system does not tell a process's memory")
