"""Notices: things the user should see although the work goes on (a clip cut, a turn dropped).

They are Python warnings of their own class, so a program can catch or silence them and the
command line can print each as one line. Failures are not notices: they are `UserError`s.
"""

import warnings


class Notice(UserWarning):
    """Something was shortened or left out; the message says what."""


def notice(message: str) -> None:
    """Tell the user once per call site and text (the command line shows every one)."""
    warnings.warn(message, Notice, stacklevel=2)
