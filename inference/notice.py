"""Notices: things the user should see although the work goes on (a clip cut, a turn dropped).

They are Python warnings of their own class, so a program can catch or silence them and the
command line can print each as one line. Failures are not notices: they are `UserError`s.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from models.errors import remark

_kept: ContextVar[list[str] | None] = ContextVar("kept", default=None)
_held: list[str] | None = None  # notices that wait until an answer is whole


class Notice(UserWarning):
    """Something was shortened or left out; the message says what."""


def notice(message: str) -> None:
    """Tell the user once per call site and text (the command line shows every one)."""
    kept = _kept.get()
    if kept is None:
        warnings.warn(message, Notice, stacklevel=2)
    else:
        kept.append(message)


@contextmanager
def notices_kept() -> Iterator[list[str]]:
    """Notices of the block, of this thread, for who asked rather than for who runs the program."""
    token = _kept.set([])
    try:
        yield _kept.get()
    finally:
        _kept.reset(token)


def show_notice(message, category, filename, lineno, file=None, line=None) -> None:
    """Print a notice as one line, or keep it while an answer is being written."""
    if _held is not None:
        _held.append(str(message))
    else:
        remark(f"notice: {message}")


@contextmanager
def notices_after() -> Iterator[None]:
    """Notices of the block are shown after it: none lands inside an answer."""
    global _held
    before, _held = _held, []
    try:
        yield
    finally:
        waiting, _held = _held, before
        for message in waiting:
            show_notice(message, Notice, "", 0)
