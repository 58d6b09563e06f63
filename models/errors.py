"""The one error a user is meant to read: one line, what is wrong and what to do."""

import argparse
import difflib
import errno
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType

OURS = ("models", "inference", "training", "data", "evaluation", "export", "serving", "benchmarks")
STREAMS = ("stdin", "stdout", "stderr")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, somebody's share of it, a file
LONGEST = 250  # characters of a message about flags, and of either end of another: names may be endless


class UserError(Exception):
    """Bad input, a missing file, a wrong flag. Entry points print it and exit with code 2."""

    def __str__(self) -> str:
        text = " ".join(super().__str__().split())  # a library's reason may have several lines
        return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} … {text[-LONGEST:]}"


class ContextError(UserError):
    """What is given takes more tokens than the context has room for."""


def needed(name: str, use: str, install: str) -> ModuleType:
    """A module of a package that running does not need.

    Raises:
        UserError: it is not installed; says what needs it, and how to install it.
    """
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise UserError(f"{use} needs the package {package}: pip install {install}") from None


class Parser(argparse.ArgumentParser):
    """Command-line flags in full, with hyphens as well; a wrong one is one line with the nearest flag."""

    def __init__(self, *args, **options):
        super().__init__(*args, allow_abbrev=False, **options)

    def parse_known_args(self, args=None, namespace=None):
        """`--top-k` is `--top_k`; other words stay as they are."""
        given = sys.argv[1:] if args is None else list(args)
        end = given.index("--") if "--" in given else len(given)
        named = [self._underscored(word) for word in given[:end]]
        return super().parse_known_args(named + given[end:], namespace)

    def _underscored(self, word: str) -> str:
        """A flag by its own name."""
        flag, equals, value = word.partition("=")
        own = "--" + flag[2:].replace("-", "_")
        known = word.startswith("--") and own in self._option_string_actions
        return own + equals + value if known else word

    def _get_value(self, action, arg_string):
        """A flag's value; it may be empty where it is a TEXT, else it is a variable that nobody set."""
        if arg_string == "" and action.metavar != "TEXT":
            raise argparse.ArgumentError(action, "its value is empty")
        return super()._get_value(action, arg_string)

    def error(self, message: str) -> None:
        if message.startswith("unrecognized arguments: "):
            wrong = (message.removeprefix("unrecognized arguments: ").split() or ["''"])[0]  # "$unset"
            near = difflib.get_close_matches(wrong, self._option_string_actions, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            message = f"unknown argument {wrong}: {hint}--help lists all"
        message = message if len(message) <= LONGEST else message[: LONGEST - 1] + "…"
        self.exit(tell(UserError(message)))


def in_one_line(error: BaseException) -> UserError | None:
    """What the user can do something about, as a UserError; None for a bug, which keeps its traceback."""
    if isinstance(error, UserError):
        return error
    text = str(error)
    if type(error).__name__.endswith("MemoryError") or "can't allocate memory" in text:
        return UserError(
            "out of memory: a shorter context (--max_context_length), --dtype bf16, a smaller cache "
            "(--cache_kind q8_0), fewer requests at once, or --device cpu needs less"
        )
    if isinstance(error, ModuleNotFoundError) and (error.name or "models").split(".")[0] not in OURS:
        package = error.name.split(".")[0]
        return UserError(f"the Python package {package} is missing: pip install -r requirements.txt, "
                         "or the requirements file of this command")
    if isinstance(error, OSError) and error.filename is not None:
        return UserError(f"cannot use {error.filename2 or error.filename}: {error.strerror}")
    return None


def in_brief(error: Exception) -> str:
    """What a library says, in one line of bounded length."""
    return " ".join(str(error).split())[:160]


def tell(error: UserError) -> int:
    """Print an error as one line; returns the exit code."""
    remark(f"error: {error}")
    return 2


def remark(line: str) -> None:
    """A line on stderr; where that takes none, the work goes on without."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        to_nowhere(2)


def to_nowhere(number: int) -> None:
    """Send a standard stream to where nothing is: what Python still holds causes no error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


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
    for name, errors in zip(STREAMS, ("replace", "replace", "backslashreplace"), strict=True):
        if hasattr(stream := getattr(sys, name), "reconfigure"):  # a terminal may lack a character
            stream.reconfigure(errors=errors)


def output_lost(error: OSError) -> int:
    """What happens when stdout takes no more: one line, unless its reader has left (`| head`)."""
    if error.filename is not None:  # it is about a file
        return tell(in_one_line(error))
    to_nowhere(1)
    if isinstance(error, BrokenPipeError):
        return 0
    return tell(UserError(f"cannot write: {error.strerror or error}"))


def one_line_errors(main: Callable[..., int | None]) -> Callable[..., int]:
    """Let an entry point return its exit code, streams usable: 2 after a UserError, told in one line."""

    @wraps(main)
    def guarded(*args, **more) -> int:
        open_streams()
        try:
            code = main(*args, **more) or 0
        except KeyboardInterrupt:
            return 130  # as shells count Ctrl-C
        except Exception as error:
            if isinstance(error, OSError) and error.errno in FULL:
                return output_lost(error)
            told = in_one_line(error)
            if told is None:
                raise
            return tell(told)
        try:
            sys.stdout.flush()
        except OSError as error:
            return output_lost(error)
        return code

    return guarded
