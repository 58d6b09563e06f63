"""The one error a user is meant to read: one line, what is wrong and what to do."""

import argparse
import difflib
import os
import sys
from collections.abc import Callable
from functools import wraps

STREAMS = ("stdin", "stdout", "stderr")


class UserError(Exception):
    """Bad input, a missing file, a wrong flag. Entry points print it and exit with code 2."""

    def __str__(self) -> str:
        return " ".join(super().__str__().split())  # a library's reason may have several lines


class Parser(argparse.ArgumentParser):
    """Command-line flags; a wrong one is one line with the nearest flag, not the whole usage."""

    def error(self, message: str) -> None:
        if message.startswith("unrecognized arguments: "):
            wrong = message.removeprefix("unrecognized arguments: ").split()[0]
            near = difflib.get_close_matches(wrong, self._option_string_actions, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            message = f"unknown argument {wrong}: {hint}--help lists all"
        self.exit(tell(UserError(message)))


def tell(error: UserError) -> int:
    """Print an error as one line; returns the exit code."""
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    return 2


def open_streams() -> None:
    """Make the standard streams usable: a closed one leads nowhere, odd bytes are replaced.

    Without this the next file to be opened takes a closed stream's number and is written over.
    """
    for number, name in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)  # takes the lowest number
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False, encoding="utf-8"))
    replaced = {"stdin": "replace", "stdout": "replace", "stderr": "backslashreplace"}
    for name, errors in replaced.items():  # a terminal may lack a character: show "?" instead
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors=errors)


def output_lost(error: OSError) -> int:
    """What happens when stdout takes no more: one line, unless its reader has left (`| head`)."""
    lost = os.open(os.devnull, os.O_WRONLY)
    os.dup2(lost, 1)  # what Python still holds goes nowhere, without a second error at exit
    if isinstance(error, BrokenPipeError):
        return 0
    return tell(UserError(f"cannot write the answer: {error.strerror or error}"))


def one_line_errors(main: Callable[..., int | None]) -> Callable[..., int]:
    """Let an entry point return its exit code: 2 after a UserError, which is told in one line."""

    @wraps(main)
    def guarded(*args, **more) -> int:
        try:
            return main(*args, **more) or 0
        except UserError as error:
            return tell(error)

    return guarded
