"""serve: many clients at once, beside one alone; half of them leave; memory. Loopback only.

Starts `serve.py` in a process of its own and asks it as clients do, over HTTP.
"""

import base64
import http.client
import io
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import megabytes
from models.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
CLIENTS, REQUESTS, ALONE = 32, 200, 24
APART = 0.1  # seconds from one client's coming to the next one's
KINDS = ("text", "picture", "speech")  # speech: a question in words, answered aloud
LEAVERS, EARLY, LATE = 16, 100, 1000  # clients of the memory test; requests after which it is read
QUESTIONS = (
    "What is a dog?", "Tell me about the sun.", "Who are you?", "What is the capital of France?",
    "Why is the sky blue?", "How do birds fly?", "What can you do?", "Tell me a joke.",
)
SECONDS = 120  # the longest that one request may take


@dataclass
class Took:
    """One request as its client saw it."""

    kind: str
    first: float  # seconds to the first word
    total: float
    tokens: int


def bench_serve(omni, rounds: int, tokens: int) -> dict[str, dict[str, float]]:
    """Rows: one client, many that come one after another, many at once, ratios to one; memory."""
    bodies, others = requests(REQUESTS + ALONE + 6), requests(REQUESTS, 2000)
    with server(omni) as (port, pid):
        for body in (bodies.pop() for _ in range(6)):  # everything is loaded and compiled
            ask(port, body)
        half = ALONE // 2  # before and after the crowd: the machine may be shared
        before, seconds_before = crowd(port, bodies[:half], 1)
        rows = {
            f"{CLIENTS} clients": figures(*crowd(port, bodies[ALONE:], CLIENTS, APART), percentile),
            f"{CLIENTS} at once": figures(*crowd(port, others, CLIENTS), percentile),
        }
        after, seconds_after = crowd(port, bodies[half:ALONE], 1)
        memory = measure_memory(port, pid)
    one = figures(before + after, seconds_before + seconds_after, statistics.median)
    ratios = {
        f"ratio of {name}": {key: row[key] / one[key] for key in one if key not in ("requests", "seconds")}
        for name, row in rows.items()
    }
    return {"one client": one, **rows, **ratios, "memory": memory}


def measure_memory(port: int, pid: int) -> dict[str, float]:
    """Half of the clients leave midway: memory after EARLY and after LATE requests."""
    texts = [body for body in requests(len(KINDS) * LATE, 1000) if body["kind"] == "text"]
    memory = {}
    for name, asked in (("mb_early", texts[:EARLY]), ("mb_late", texts[EARLY:])):
        crowd(port, asked, LEAVERS, leave=True)
        memory[name] = megabytes("VmRSS", Path(f"/proc/{pid}/status"))
    return memory | {"growth": memory["mb_late"] / memory["mb_early"]}


def percentile(values: list[float], part: float = 0.95) -> float:
    return sorted(values)[int(part * (len(values) - 1))]


def figures(
    took: list[Took], seconds: float, typical: Callable[[list[float]], float]
) -> dict[str, float]:
    """Speed, and the typical time to the first word of each kind."""
    of = {kind: [one.first for one in took if one.kind == kind] for kind in KINDS}
    firsts = {f"first_word_{kind}": typical(of[kind]) for kind in KINDS}
    speed = sum(one.tokens for one in took) / seconds
    return {"requests": len(took), "seconds": seconds, "tokens_per_second": speed} | firsts


def requests(count: int, first: int = 1) -> list[dict]:
    """Text, a picture, a spoken answer, in turn; nothing comes twice, as the server knows what it read."""
    from PIL import Image

    picture = Image.open(ROOT / "examples/sample_image.png").convert("RGB")
    made = []
    for i in range(count):
        kind, text = KINDS[i % len(KINDS)], f"{first + i}: {QUESTIONS[i // len(KINDS) % len(QUESTIONS)]}"
        body = {"model": "muomni", "stream": True, "stream_options": {"include_usage": True}}
        content = text
        if kind == "picture":
            picture.putpixel((0, 0), (i % 256, i // 256, first % 256))
            content = [image_part(picture), {"type": "text", "text": "What do you see?"}]
        if kind == "speech":
            body |= {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "pcm16"}}
        body["messages"] = [{"role": "user", "content": content}]
        made.append({"kind": kind, "data": json.dumps(body)})
    return made


def image_part(picture) -> dict:
    """A picture as a part of a message."""
    out = io.BytesIO()
    picture.save(out, "PNG")
    data = base64.b64encode(out.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


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
    port: int, bodies: list[dict], clients: int, apart: float = 0.0, leave: bool = False
) -> tuple[list[Took], float]:
    """Ask all, `clients` at a time -> what each took, and seconds of the whole.

    Args:
        apart: seconds from one client's coming to the next one's.
        leave: every second client goes after its first word.
    """
    begin = time.perf_counter()
    lock, places = threading.Lock(), iter(range(len(bodies)))

    def one(client: int) -> list[Took]:
        time.sleep(client * apart)
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
            if first is None and (delta.get("content") or delta.get("audio", {}).get("transcript")):
                first = time.perf_counter() - begin
                if leave:
                    break
            if event.get("usage"):
                tokens = event["usage"]["completion_tokens"]
    finally:
        connection.close()
    if first is None:
        raise UserError(f"a request was answered without a word: {body['data'][:200]}")
    return Took(body["kind"], first, time.perf_counter() - begin, tokens)
