"""Notices: things the user should see although the work goes on (a clip cut, a turn dropped).

They are Python warnings of their own class, so a program can catch or silence them and the
command line can print each as one line. Failures are not notices: they are `UserError`s.
"""

import sys
import warnings


class Notice(UserWarning):
    """Something was shortened or left out; the message says what."""


def notice(message: str) -> None:
    """Tell the user once per call site and text (the command line shows every one)."""
    warnings.warn(message, Notice, stacklevel=2)


def show_notice(message, category, filename, lineno, file=None, line=None) -> None:
    """Print a notice as one line; the answer may be streaming on stdout meanwhile."""
    print(f"notice: {message}", file=sys.stderr, flush=True)
