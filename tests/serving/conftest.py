"""The page in headless Chromium, against a server without a model."""

import pytest

from tests.serving.browser import CHROMIUM, FLAGS, microphone


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
