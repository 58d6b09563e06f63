"""The one error a user is meant to read: one line, what is wrong and what to do."""

import sys
from collections.abc import Callable
from functools import wraps


class UserError(Exception):
    """Bad input, a missing file, a wrong flag. Entry points print it and exit with code 2."""


def tell(error: UserError) -> int:
    """Print an error as one line; returns the exit code."""
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    return 2


def one_line_errors(main: Callable[..., int | None]) -> Callable[..., int]:
    """Let an entry point return its exit code: 2 after a UserError, which is told in one line."""

    @wraps(main)
    def guarded(*args, **more) -> int:
        try:
            return main(*args, **more) or 0
        except UserError as error:
            return tell(error)

    return guarded
