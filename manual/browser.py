"""A headless Chromium, driven through its DevTools pipe: open a page, ask it things, take a picture.

Needs nothing but the browser itself: the pipe (file descriptors 3 and 4, JSON ended by a zero byte) spares
us a WebSocket library and a driver. Nothing here knows what a good page is.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless --remote-debugging-pipe --disable-gpu --no-first-run --hide-scrollbars --mute-audio "
    "--disable-background-networking --disable-component-update --disable-sync --disable-quic "
    "--disable-extensions --disable-dev-shm-usage --disk-cache-size=1"
).split()
PATIENCE = 120.0  # seconds for one answer, on a machine whose cores are busy


class BrowserError(Exception):
    """The browser refused, broke or fell silent."""


def find_browser() -> str | None:
    """A Chromium on this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a running Chromium, and the events that it reported."""

    def __init__(self, read: int, write: int):
        self.read, self.write = read, write
        self.buffer, self.number, self.session = b"", 0, None
        self.events: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params) -> dict:
        """Send a command, wait for its answer; what else is reported meanwhile goes to `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self) -> dict:
        """The next message."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0.0, end - time.monotonic()))[0]:
                raise BrowserError(f"no word from Chromium for {PATIENCE:.0f} s")
            got = os.read(self.read, 1 << 16)
            if not got:
                raise BrowserError("Chromium has ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        parsed = json.loads(message)
        if "method" in parsed:
            self.events.append(parsed)
        return parsed

    def open(self, url: str) -> None:
        """Go to a page and wait until it has loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def resize(self, width: int, height: int) -> None:
        """The size of the window, in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def evaluate(self, script: str) -> object:
        """What a JavaScript expression (or the promise it gives) comes to."""
        how = {"awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"].get("exception")))
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """What the window shows, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A fresh Chromium with an empty profile; it is ended on the way out."""
    pipes = [os.pipe(), os.pipe()]
    # Away from 3 and 4, which the child needs; the parent's own ends stay out of the child.
    to_child, ours_out, ours_in, from_child = (
        fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pair in pipes for end in pair
    )
    for end in (end for pair in pipes for end in pair):
        os.close(end)

    def wire() -> None:
        os.dup2(to_child, 3)
        os.dup2(from_child, 4)

    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses root otherwise
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        child = subprocess.Popen(
            [program, *FLAGS, *sandbox, f"--user-data-dir={profile}"],
            preexec_fn=wire, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        try:
            yield Browser(ours_in, ours_out)
        finally:
            child.terminate()
            child.wait(timeout=30)
            os.close(ours_in)
            os.close(ours_out)
