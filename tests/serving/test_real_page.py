"""The page in headless Chromium against the real server: types, shows, speaks, hears, reloads."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.serving.browser import FLAGS, microphone

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright: pip install -r requirements-browser.txt"
)
pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt-get install chromium")

ROOT = Path(__file__).resolve().parents[2]


def until(page, condition: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


DONE = "document.querySelectorAll('.answer[aria-busy=false]').length"


def test_a_person_types_shows_speaks_interrupts_and_comes_back(tmp_path):
    command = [sys.executable, "serve.py", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+/", server.stdout.readline()).group(0)
    speech = microphone(tmp_path / "m.wav", ("silence", 2), ("speech", 4), ("silence", 40))
    flags = [*FLAGS, f"--use-file-for-fake-audio-capture={speech}%noloop"]
    errors, asked = [], []
    try:
        with playwright.sync_playwright() as play:
            browser = play.chromium.launch_persistent_context(
                tmp_path / "profile", executable_path=CHROMIUM, args=flags, headless=True,
                permissions=["microphone"], viewport={"width": 1280, "height": 800},
            )
            page = browser.new_page()
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address)
            page.wait_for_selector("body[data-ready]")
            page.fill("#prompt", "What is a dog?")
            page.keyboard.press("Enter")
            until(page, f"() => {DONE} === 1")
            assert "animal" in page.locator(".answer > .text").first.inner_text()
            page.set_input_files("#file", ROOT / "examples/sample_image.png")
            page.wait_for_selector("#tray img")
            page.fill("#prompt", "What do you see?")
            page.keyboard.press("Enter")
            until(page, f"() => {DONE} === 2")
            assert page.locator(".answer > .text").nth(1).inner_text()
            page.click("#hands-free")  # the fake microphone says the question
            until(page, "() => document.getElementById('voice-bar').dataset.state === 'speaking'")
            until(page, "() => document.getElementById('player').currentTime > 0")
            page.keyboard.press("Escape")  # interrupts the voice
            until(page, "() => document.getElementById('player').paused")
            until(page, f"() => {DONE} === 3")
            assert re.search("first sound", page.locator(".times").last.inner_text())
            if page.is_visible("#hang-up"):
                page.click("#hang-up")
            said = page.locator(".question .text").nth(2).inner_text()
            page.screenshot(path=tmp_path / "wide.png")
            page.reload()
            page.wait_for_selector("body[data-ready]")
            until(page, "() => document.querySelectorAll('.answer').length === 3")
            assert page.locator(".question .text").nth(2).inner_text() == said != ""
            page.set_viewport_size({"width": 360, "height": 700})
            page.wait_for_timeout(300)
            page.screenshot(path=tmp_path / "narrow.png")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    assert errors == []
    assert [each for each in asked if not each.startswith((address, "blob:", "data:"))] == []
