"""The chat page in headless Chromium, against a server without a model; its logic in Node."""

import re
import shutil
import subprocess

import pytest

from tests.serving.browser import ANSWER, ROOT, answered, ask, sent, talk_hands_free, until
from tests.serving.fake_server import NOTICE

PAGE = ROOT / "serving" / "page"


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


def test_the_focus_stays_where_it_was(browse):
    page = browse()
    for text in ("One?", "Two?"):
        ask(page, text)
        answered(page)
        page.keyboard.press("Alt+n")
    first = page.locator("#chats .name").last
    first.focus()
    page.keyboard.press("Enter")
    answered(page)
    focused = "() => document.activeElement.textContent || document.activeElement.id"
    assert page.evaluate(focused) == first.inner_text()
    page.locator("[aria-label='Try again']").focus()
    page.keyboard.press("Enter")
    answered(page)
    assert page.evaluate("() => document.activeElement.id") == "prompt"


def test_what_was_not_read_stands_under_the_answer(browse):
    page = browse()
    ask(page, "What is this?")
    assert answered(page) == ANSWER and not page.is_visible(".notices")
    ask(page, "And this cut one?")
    for _ in range(2):
        assert answered(page, 2) == ANSWER
        assert page.locator(".notices").last.inner_text() == NOTICE
        page.reload()
        page.wait_for_selector("body[data-ready]")


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
