"""A progress bar on stderr, where a person is watching; elsewhere nothing."""

import sys
import time

WIDTH = 30  # characters of the bar
REDRAW = 0.2  # s between two drawings


class ProgressBar:
    """Called with seconds done and seconds in all (0: unknown); `write` prints a line above it."""

    def __init__(self, quiet: bool = False) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self.began, self.drawn, self.text = time.monotonic(), 0.0, ""

    def __call__(self, done: float, total: float) -> None:
        now = time.monotonic()
        if not self.shown or now - self.drawn < REDRAW:
            return
        self.drawn = now
        pace = f"{clock(done)} done, {done / max(now - self.began, 1e-3):.0f} × real time"
        share = min(done / total, 1.0) if total else 0.0
        bar = f"{'█' * round(WIDTH * share):░<{WIDTH}} {100 * share:3.0f} % " if total else ""
        self.draw(bar + pace)

    def write(self, text: str) -> None:
        """One line to stdout, the bar moves down."""
        bar = self.text
        self.draw("")
        print(text, flush=True)
        self.draw(bar)

    def draw(self, text: str) -> None:
        if self.shown and text != self.text:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        self.text = text

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_) -> None:
        self.draw("")


def clock(seconds: float) -> str:
    """M:SS, or H:MM:SS"""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
