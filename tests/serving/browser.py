"""What tests of the page in Chromium share: the microphone's sound, asking, waiting."""

import array
import shutil
import time
import wave
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
