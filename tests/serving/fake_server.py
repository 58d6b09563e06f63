"""A server without a model that speaks the page's contract: python tests/serving/fake_server.py

The page in serving/page, and OpenAI's API with fixed answers and a tone for a voice. A question may
steer it: "slow" streams slowly, "fail" answers 429, "think" has a chain of thought, "cut" a notice.
"""

import array
import base64
import itertools
import json
import math
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.serving.fake_realtime import RATE, FakeRealtime
from tests.serving.websocket import WebSocket

PAGE = Path(__file__).resolve().parents[2] / "serving" / "page"
ANSWER = "There are three stars, and one of them is yellow."
NOTICE = "the image ends too soon: a part of the picture is missing"
MODEL = {
    "id": "muomni",
    "object": "model",
    "created": 0,
    "owned_by": "uomni",
    "voices": ["emma", "fenrir"],
    "context": 1024,
}
TRACE = "<!doctype html><title>trace</title><h1>Inside</h1><script>document.title='ran'</script>"


def tone(seconds: float) -> bytes:
    """16-bit PCM of a soft 220 Hz tone."""
    count = int(seconds * RATE)
    wave = (int(3000 * math.sin(2 * math.pi * 220 * i / RATE)) for i in range(count))
    return array.array("h", wave).tobytes()


class FakeServer(ThreadingHTTPServer):
    """Listens at `address`; `requests` holds (path, body), `events` what realtime clients sent."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.requests: list[tuple[str, dict]] = []
        self.events: list[dict] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"

    def start(self) -> "FakeServer":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def handle_error(self, request, client_address) -> None:
        """A browser that goes away is no error."""


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args) -> None:
        super().__init__(*args, directory=str(PAGE))

    def log_message(self, *args) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self.reply(json.dumps({"object": "list", "data": [MODEL]}))
        elif self.path.startswith("/v1/realtime"):
            FakeRealtime(WebSocket(self), self.server.events, tone, ANSWER).run()
            self.close_connection = True
        else:
            super().do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body))
        if self.path == "/v1/chat/completions":
            self.chat(body)
        elif self.path == "/v1/audio/speech":
            self.reply(tone(1.0), "application/octet-stream")
        elif self.path == "/v1/trace":
            self.reply(TRACE, "text/html")
        else:
            self.fail(404, "There is no such address.")

    def fail(self, status: int, message: str) -> None:
        self.reply(json.dumps({"error": {"message": message, "type": "error"}}), status=status)

    def reply(self, text: str | bytes, kind: str = "application/json", status: int = 200) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def chat(self, body: dict) -> None:
        question = json.dumps(body["messages"][-1])
        if "fail" in question:
            return self.fail(429, "Too many requests wait. Try again in a moment.")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if "think" in question and body.get("think", True):
            self.chunk({"reasoning_content": "Three stars: yellow, red, red."})
        for number, word in zip(itertools.count(), ANSWER.split(" ")):
            time.sleep(0.3 if "slow" in question else 0.02)
            notices = {"notices": [NOTICE]} if "cut" in question else {}
            self.chunk({"content": word if number == 0 else " " + word}, **notices)
            if "audio" in body.get("modalities", []):
                self.chunk({"audio": {"data": base64.b64encode(tone(0.2)).decode()}})
        self.wfile.write(b"data: [DONE]\n\n")

    def chunk(self, delta: dict, **more) -> None:
        choices = [{"index": 0, "delta": delta}]
        event = {"object": "chat.completion.chunk", "choices": choices} | more
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())


if __name__ == "__main__":
    server = FakeServer(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
    print(f"a page without a model at {server.address}")
    server.serve_forever()
