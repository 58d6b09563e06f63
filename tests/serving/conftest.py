"""A server of the shipped weights; the page in headless Chromium, against a server without a model."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.serving.browser import CHROMIUM, FLAGS, microphone

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def port():
    """A server without a key; what it wrote to stderr may hold no traceback."""
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "serve.py", "--port", "0"]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield int(re.search(r":(\d+)/", server.stdout.readline()).group(1))
        finally:
            server.terminate()
            assert server.wait(30) in (0, -15)
        log.seek(0)
        assert "Traceback" not in log.read()


@pytest.fixture
def server():
    from tests.serving.fake_server import FakeServer

    server = FakeServer().start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def browse(server, tmp_path):
    """browse(*what the microphone hears) opens the page; no console error, no other host."""
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    errors, addresses = [], []
    with sync_api.sync_playwright() as playwright:
        contexts = []

        def open_page(*heard, width=1200, height=800, **options):
            sound = microphone(tmp_path / "microphone.wav", *(heard or [("silence", 1)]))
            context = playwright.chromium.launch_persistent_context(
                str(tmp_path / "profile"),
                executable_path=CHROMIUM,
                headless=True,
                args=[*FLAGS, f"--use-file-for-fake-audio-capture={sound}%noloop"],
                viewport={"width": width, "height": height},
                **options,
            )
            contexts.append(context)
            page = context.pages[0]
            page.set_default_timeout(15_000)
            page.on("console", lambda m: m.type == "error" and errors.append(m.text))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: addresses.append(request.url))
            page.goto(server.address)
            page.wait_for_selector("body[data-ready]")
            return page

        yield open_page
        for context in contexts:
            context.close()
    own = (server.address, "blob:", "data:")
    assert [each for each in addresses if not each.startswith(own)] == []
    assert [each for each in errors if "429" not in each] == []
