"""The chat page in headless Chromium, against a server without a model; its logic in Node."""

import array
import re
import shutil
import subprocess
import sys
import time
import wave
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "serving" / "page"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
]
ANSWER = "There are three stars, and one of them is yellow."


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node: apt-get install nodejs")
def test_logic_in_node():
    tests = sorted(map(str, (ROOT / "tests/serving/page").glob("*.test.mjs")))
    run = subprocess.run(["node", "--test", *tests], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout[-4000:]
    assert re.search(r"pass [1-9]", run.stdout)


def test_the_page_names_no_other_host_and_stays_small():
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        hosts = re.findall(
            r"(?:https?:|wss?:)?//[\w.-]+\.\w+",
            re.sub(r"^\s*//.*$|http://www.w3.org", "", text, flags=re.M),
        )
        assert not hosts, f"{path.name}: {hosts}"
        assert len(text.splitlines()) < 250, path.name


def test_every_icon_and_element_that_is_used_exists():
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in PAGE.glob("*.js"))
    icons = set(re.findall(r'symbol id="([\w-]+)"', (PAGE / "icons.svg").read_text()))
    used = re.findall(r"icons\.svg#([\w-]+)", html)
    used += re.findall(r'(?:icon|iconButton)\("([\w-]+)"', code)
    assert set(used) <= icons
    assert set(re.findall(r'find\("([\w-]+)"\)', code)) <= set(re.findall(r'id="([\w-]+)"', html))


def microphone(path: Path, *parts: tuple[str, float]) -> Path:
    """A recording for the fake microphone: ("speech", s), ("noise", s) and ("silence", s)."""
    with wave.open(str(ROOT / "examples/question.wav")) as recording:
        rate = recording.getframerate()
        question = array.array("h", recording.readframes(recording.getnframes()))
    samples = array.array("h")
    for kind, seconds in parts:
        count = int(seconds * rate)
        if kind == "speech":
            samples.extend(question[:count])
        else:
            samples.extend([0] * count)
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        out.writeframes(samples.tobytes())
    return path


@pytest.fixture
def server():
    sys.path.insert(0, str(ROOT))
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


def ask(page, text: str) -> None:
    page.fill("#prompt", text)
    page.keyboard.press("Enter")


def until(page, condition: str, arg=None) -> None:
    """Waits for a function of the page; Playwright's own wait needs eval, which the page forbids."""
    end = time.monotonic() + 15
    while not page.evaluate(condition, arg):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def answered(page, count: int = 1) -> str:
    until(
        page,
        "n => document.querySelectorAll('.answer[aria-busy=false]').length === n",
        count,
    )
    return page.locator(".answer > .text").nth(count - 1).inner_text()


def test_types_shows_a_picture_and_finds_the_chat_again(browse, server):
    page = browse()
    page.set_input_files("#file", ROOT / "examples/sample_image.png")
    page.wait_for_selector("#tray img")
    ask(page, "How many stars? think")
    assert answered(page) == ANSWER
    assert re.search(r"first word \d\.\d\d s", page.inner_text(".times"))
    assert "yellow, red" in page.inner_text(".answer details")
    parts = server.requests[-1][1]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "text"]
    assert parts[0]["image_url"]["url"].startswith("data:image/png;base64,")

    page.select_option("#thinking", "hide", force=True)
    assert not page.is_visible(".answer details")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.locator(".answer > .text").inner_text() == ANSWER
    until(page, "() => document.querySelector('.shown img').naturalWidth === 224")
    ask(page, "And now?")
    answered(page, 2)
    assert [m["role"] for m in server.requests[-1][1]["messages"]] == ["user", "assistant", "user"]

    page.click("#new-chat")
    assert page.is_visible("#welcome")
    page.click("#chats .name")
    until(page, "() => document.querySelectorAll('.answer').length === 2")


def test_speaks_and_shows_the_time_to_the_first_sound(browse, server):
    page = browse()
    page.click("#speak-answers")
    ask(page, "Hello")
    until(page, "() => !document.getElementById('player').paused")
    assert answered(page) == ANSWER
    assert re.search(r"first sound \d\.\d\d s", page.inner_text(".times"))
    body = server.requests[-1][1]
    assert body["modalities"] == ["text", "audio"]
    assert body["audio"] == {"voice": "emma", "format": "pcm16"}
    page.click("#send")  # it is still sounding: the button stops it
    until(page, "() => document.getElementById('player').paused")


def test_stop_retry_error_and_inside(browse, server):
    page = browse()
    ask(page, "slow please")
    page.wait_for_selector(".answer .text:not(:empty)")
    page.keyboard.press("Escape")
    assert 0 < len(answered(page)) < len(ANSWER)
    assert "stopped" in page.inner_text(".times")
    page.click(".answer [aria-label='See inside']")
    frame = page.frame_locator("#inside-page")
    assert frame.locator("h1").inner_text() == "Inside"
    assert server.requests[-1][0] == "/v1/trace"
    page.click("#inside-close")
    ask(page, "fail")
    assert answered(page, 2) == ""
    assert "Too many requests" in page.locator(".error").last.inner_text()
    page.click(".answer:last-child [aria-label='Try again']")
    until(page, "() => document.querySelectorAll('.answer').length === 2")
    assert answered(page, 2) == ""


def test_push_to_talk_sends_what_the_microphone_heard(browse, server):
    page = browse(("silence", 0.3), ("speech", 1.3), ("silence", 5))
    page.hover("#talk")
    page.mouse.down()
    until(page, "() => document.getElementById('recording').textContent.includes('1 s')")
    page.wait_for_timeout(500)
    page.mouse.up()
    assert answered(page) == ANSWER
    (part,) = server.requests[-1][1]["messages"][0]["content"]
    assert part["input_audio"]["format"] == "wav" and len(part["input_audio"]["data"]) > 20_000
    assert "first sound" in page.inner_text(".times")


def test_silence_starts_no_turn(browse, server):
    page = browse(("silence", 5))
    page.click("#hands-free")
    page.wait_for_selector("[data-state=listening]")
    page.wait_for_timeout(1500)
    assert page.locator(".question").count() == 0
    page.click("#hang-up")
    assert page.is_hidden("#voice-bar")


WATCH = """() => {
    const bar = document.getElementById("voice-bar");
    window.states = [];
    new MutationObserver(() => {
        if (window.states.at(-1) !== bar.dataset.state) window.states.push(bar.dataset.state);
    }).observe(bar, { attributes: true });
    document.getElementById("hands-free").click();
}"""


def talk_hands_free(page, states: str) -> None:
    """Starts a spoken conversation and waits until its states so far match the expression."""
    page.evaluate(WATCH)
    until(page, "e => new RegExp(e).test(window.states.join(' '))", states)


def sent(server) -> list[str]:
    kinds = [event["type"] for event in server.events]
    return [kind for kind in kinds if kind != "input_audio_buffer.append"]


def test_hands_free_listens_again_when_the_sound_has_ended(browse, server):
    page = browse(("silence", 1), ("speech", 1.3), ("silence", 30))
    talk_hands_free(page, "^listening hearing thinking speaking$")
    assert page.locator(".question .text").inner_text() == "How many stars are there?"
    assert answered(page).strip() == ANSWER  # all has been made, and it still sounds
    assert page.get_attribute("#voice-bar", "data-state") == "speaking"
    page.wait_for_selector("[data-state=listening]")
    assert "first sound" in page.inner_text(".times")
    assert "response.cancel" not in sent(server)


def test_barge_in_stops_the_answer_and_is_heard(browse, server):
    page = browse(("silence", 1), ("speech", 1.3), ("silence", 3), ("speech", 1.3), ("silence", 30))
    talk_hands_free(page, "speaking hearing thinking speaking")
    assert page.locator(".question").count() == 2
    assert "stopped" in page.locator(".times").first.inner_text()
    assert sent(server).count("response.create") == 2
    (cut,) = [each for each in server.events if each["type"] == "conversation.item.truncate"]
    assert 0 < cut["audio_end_ms"] < 5000


def test_what_is_typed_over_an_answer_is_answered_by_voice(browse, server):
    page = browse(("silence", 1), ("speech", 1.3), ("silence", 60))
    talk_hands_free(page, "speaking$")
    ask(page, "And now?")
    until(page, "e => new RegExp(e).test(window.states.join(' '))", "speaking thinking speaking")
    assert page.locator(".question").count() == 2
    assert sent(server).count("response.create") == 2
    assert server.requests == []  # none of them went another way
    page.click(".answer [aria-label='Read aloud'] >> nth=0")
    assert page.is_hidden("#voice-bar")
    assert page.evaluate("document.activeElement.title") == "Read aloud"  # the focus stays


def test_tabs_do_not_overwrite_each_other(browse):
    page = browse()
    ask(page, "One")
    answered(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("body[data-ready]")
    ask(page, "Two")
    answered(page, 2)
    ask(other, "Three")
    answered(other, 2)
    until(other, "() => document.querySelectorAll('#chats .name').length === 2")
    assert other.locator(".question .text").all_inner_texts() == ["One", "Three"]
    other.click("#chats li:not([aria-current]) .name")
    until(other, "() => document.querySelector('#messages').innerText.includes('Two')")
    other.click("#speak-answers")
    page.wait_for_selector("#speak-answers[aria-pressed=true]")


def test_a_chat_is_deleted_when_that_is_meant_and_stays_open_when_it_is_picked(browse):
    page = browse()
    ask(page, "slow please")
    page.click("#chats .name")
    assert answered(page) == ANSWER
    said = []
    page.once("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.click("#chats [aria-label^=Delete]")
    assert said == ["Delete “slow please”?"] and page.locator("#chats .name").count() == 1
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#chats [aria-label^=Delete]")
    until(page, "() => document.activeElement.id === 'new-chat'")
    assert page.locator("#chats .name").count() == 0


def test_a_touch_screen_shows_what_deletes(browse):
    page = browse(width=360, height=640, has_touch=True, is_mobile=True)
    ask(page, "Hello")
    answered(page)
    page.click("#new-chat-top")
    page.wait_for_selector("#chats li:not([aria-current]) .icon", state="attached")
    assert page.evaluate("getComputedStyle(document.querySelector('#chats .icon')).opacity") == "1"


def test_a_spoken_conversation_takes_over_from_a_recording(browse):
    page = browse(("silence", 60))
    page.click("#talk")  # a tap
    page.wait_for_selector("#talk[aria-pressed=true]")
    page.click("#hands-free")
    page.wait_for_selector("[data-state=listening]")
    assert page.get_attribute("#talk", "aria-pressed") == "false"


def test_a_message_waits_for_its_pictures(browse, server):
    page = browse()
    page.evaluate("""() => {
        window.createImageBitmap = () => new Promise((_, no) => setTimeout(no, 800));
    }""")
    picture = {"name": "a.png", "mimeType": "image/png", "buffer": bytes(2_000_000)}
    page.set_input_files("#file", [picture] * 8)
    ask(page, "What?")
    answered(page)
    parts = server.requests[-1][1]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url"] * 6 + ["text"]


def test_an_answer_is_kept_while_it_is_made(browse):
    page = browse()
    ask(page, "slow please")
    page.wait_for_timeout(2000)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert 0 < len(answered(page)) < len(ANSWER)
    assert "stopped" in page.inner_text(".times")


def test_a_short_pause_continues_the_same_turn(browse, server):
    page = browse(
        ("silence", 1), ("speech", 1.3), ("silence", 0.45), ("speech", 1.3), ("silence", 30)
    )
    talk_hands_free(page, "hearing thinking( speaking)? hearing thinking speaking")
    assert page.locator(".question").count() == 1
    assert page.locator(".answer").count() == 1
    assert page.inner_text(".question .text").count("stars") == 2


def test_a_phone_in_the_dark_has_no_sideways_scrolling(browse):
    page = browse(width=360, height=640, color_scheme="dark")
    assert page.get_attribute("html", "data-theme") == "dark"
    ask(page, "Hello " + "long" * 40)
    answered(page)
    wide = "Math.max(...[...document.querySelectorAll('main *')].map(e => e.getBoundingClientRect().right))"
    assert page.evaluate(wide) <= 360
    page.click("#open-sidebar")
    assert page.evaluate("document.querySelector('main').inert")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "open-sidebar"
    page.click("#open-sidebar")
    page.click("#open-settings")
    assert page.is_visible("#voice")


def test_alt_t_types_nothing_and_a_left_window_ends_the_recording(browse):
    page = browse(("silence", 60))
    page.focus("#prompt")
    page.evaluate("""addEventListener("keydown", (event) => (window.kept = event.defaultPrevented))""")
    page.keyboard.down("Alt")
    for _ in range(2):  # the second repeats
        page.keyboard.down("t")
        assert page.evaluate("window.kept")
    page.wait_for_timeout(600)
    page.evaluate("""dispatchEvent(new Event("blur"))""")
    assert page.get_attribute("#talk", "aria-pressed") == "false"


def test_every_control_has_a_name_and_the_keyboard_reaches_it(browse):
    page = browse()
    nameless = """[...document.querySelectorAll('button, select, input, textarea')].filter(e =>
        e.offsetParent && !(e.getAttribute('aria-label') || e.labels?.length || e.innerText.trim()))"""
    assert page.evaluate(f"{nameless}.map(e => e.outerHTML)") == []
    reached = set()
    for _ in range(24):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"new-chat", "open-settings", "scroll", "prompt", "attach", "talk", "hands-free"} <= reached
