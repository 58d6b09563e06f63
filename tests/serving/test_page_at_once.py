"""What happens on the page at once: typing while it speaks, two tabs, files being read, a page left."""

from tests.serving.browser import ANSWER, answered, ask, sent, talk_hands_free, until


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
