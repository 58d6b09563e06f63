"""Looking at the site: every page in headless Chromium, on a wide and on a narrow screen.

Finds what a strict build cannot: a page wider than its screen, a picture or sound that is not there, a
script that fails, a formula or diagram left as source, a page that wants something from the network.
It takes pictures of some pages for a person to look at; whether they are pretty it cannot say.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from manual.browser import Browser, BrowserError, browser, find_browser
from manual.chapters import ROOT

SITE = ROOT / "build" / "site"
SHOTS = ROOT / "build" / "look"
SCREENS = {1440: 900, 390: 844}  # width: height, a laptop's and a phone's
PICTURED = (
    "index",
    "architecture",
    "tutorial/01-first-conversation",
    "tutorial/12-codec-listening",
    "tutorial/18-measuring",
    "reference/config",
)
TALL = 6000  # pixels of a page that a picture shows at most

# What is wrong with the page at the present width; a list of sentences.
WRONG = """
(async () => {
  const wrong = [], seen = element => element.getBoundingClientRect();
  const over = document.scrollingElement.scrollWidth - innerWidth;
  if (over > 0) wrong.push(`is ${over} px wider than the screen`);
  const scrolls = element => {
    for (let e = element; e && e !== document.body; e = e.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  for (const e of document.querySelectorAll('.md-content *'))
    if (seen(e).width && seen(e).right > innerWidth + 1 && !scrolls(e) && !e.closest('math *'))
      wrong.push(`<${e.localName}> sticks out: ${e.textContent.trim().slice(0, 40)}`);
  for (const image of document.images)
    await image.decode().catch(() => wrong.push(`broken picture ${image.src}`));
  for (const sound of document.querySelectorAll('audio')) {
    if (!(await fetch(sound.src, {method: 'HEAD'})).ok) wrong.push(`no sound ${sound.src}`);
    if (sound.controls && seen(sound).width < 200) wrong.push(`a player of ${seen(sound).width} px`);
  }
  for (const drawn of document.querySelectorAll('.md-content math, .diagram svg'))
    if (!drawn.closest('details:not([open])') && seen(drawn).width < 4)
      wrong.push(`<${drawn.localName}> shows nothing`);
    else if (drawn.textContent.includes('\\\\'))
      wrong.push(`formula not understood: ${drawn.textContent}`);
  if (document.querySelector('.mermaid, .arithmatex')) wrong.push('has a formula or diagram as source');
  return wrong;
})()
"""
SETTLED = "new Promise(done => setTimeout(() => requestAnimationFrame(done), 500))"  # after a new size
COUNTS = """[document.querySelectorAll('.md-content math').length,
  document.querySelectorAll('.diagram svg').length, document.images.length,
  document.querySelectorAll('audio').length]"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a port of this machine; gives its address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def complaints(events: list[dict], address: str) -> list[str]:
    """Errors that the browser reported while a page loaded, and what it asked others for."""
    found = []
    for event in events:
        params = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            found.append(f"script error: {params['exceptionDetails']['text']}")
        elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
            found.append(f"console: {[argument.get('value') for argument in params['args']]}")
        elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            found.append(f"console: {params['entry']['text']} {params['entry'].get('url', '')}")
        elif event["method"] == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith((address, "data:", "blob:")):
                found.append(f"asks the network for {url}")
    return found


def look_at(page: Browser, address: str, name: str, shots: Path | None) -> tuple[list[str], list[int]]:
    """What is wrong with a page on every screen, and how many formulas, diagrams, pictures, sounds."""
    wrong, counts = [], []
    for width, height in SCREENS.items():
        page.resize(width, height)
        page.open(address + name + ".html")  # anew: a player drawn for a laptop stays so
        page.evaluate(SETTLED)
        counts = page.evaluate(COUNTS)
        found = page.evaluate(WRONG) + complaints(page.events, address)
        wrong += [f"{width} px: {what}" for what in found]
        if shots:
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.resize(width, min(TALL, max(height, tall)))
            page.evaluate(SETTLED)
            page.screenshot(shots / f"{name.replace('/', '-')}-{width}.png")
    return wrong, counts


def look(site: Path, shots: Path, program: str, only: list[str]) -> int:
    """Look at the pages of a built site, or some, but copies of source files. Returns how many are wrong."""
    shots.mkdir(parents=True, exist_ok=True)
    names = sorted(path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html"))
    names = [name for name in names if name != "404" and not name.startswith("code/")]
    names = [name for name in names if not only or any(part in name for part in only)]
    bad, totals = 0, [0, 0, 0, 0]
    with served(site) as address, browser(program) as page:
        for name in names:
            wrong, counts = look_at(page, address, name, shots if name in PICTURED else None)
            totals = [total + count for total, count in zip(totals, counts)]
            bad += bool(wrong)
            for what in wrong:
                print(f"{name}: {what}", flush=True)
    kinds = ("formulas", "diagrams", "pictures", "sounds")
    shown = ", ".join(f"{total} {kind}" for total, kind in zip(totals, kinds))
    print(f"look: {len(names)} pages at {' and '.join(map(str, SCREENS))} px, {shown}; {bad} with faults")
    if not only and not all(totals):
        print("look: a kind of content is missing from the whole site")
        bad += 1
    print(f"look: pictures of some pages are in {shots}")
    return bad


def main(only: list[str]) -> int:
    """Build the site and look at it, or at pages whose names hold one of `only`. Returns the exit status.

    Without a Chromium this says so, and is no failure.
    """
    program = find_browser()
    if program is None:
        print("look: skipped, no Chromium on this machine (Debian: apt-get install chromium)")
        return 0
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(SITE), strict=True))
    try:
        return 1 if look(SITE, SHOTS, program, only) else 0
    except BrowserError as error:
        print(f"look: {error}", file=sys.stderr)
        return 1
