"""Sources: what a user brings as a path, as bytes or as an open file, read in one way."""

import io
import os
import stat
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import BinaryIO

from models.errors import UserError

MIN_SECONDS = 0.025  # of a sound: shorter than one analysis window there is nothing to hear
MOST_SEEN = 1000  # frames of a video, each found by seeking: 10,000 take minutes


@dataclass(frozen=True)
class Limits:
    """What is read of media. A larger file or picture is refused, a longer sound is cut."""

    max_bytes: int = 10_000_000_000  # of a file
    max_pixels: int = 178_956_970  # of a picture or a frame; Pillow's own limit holds besides
    max_seconds: float = 30.0  # of a sound: 375 tokens, two such and a question fit the context
    video_frames: int = 4  # seen of a video, evenly spaced

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value < inf:
                raise UserError(f"{name} must be above 0 and finite, not {value}")
        if self.max_seconds < MIN_SECONDS:
            raise UserError(f"max_seconds must be at least {MIN_SECONDS}, not {self.max_seconds}")
        if self.video_frames > MOST_SEEN:
            raise UserError(f"video_frames must be at most {MOST_SEEN}, not {self.video_frames}")


LIMITS = Limits()


@dataclass(frozen=True)
class Source:
    """A file on disk or in memory, and how messages name it."""

    name: str
    path: Path | None = None
    data: bytes = b""

    def open(self) -> BinaryIO:
        """A fresh binary stream from the start; the caller closes it."""
        return io.BytesIO(self.data) if self.path is None else open(self.path, "rb")


def as_source(given, kind: str, limits: Limits = LIMITS) -> Source | None:
    """A path, bytes or a binary file object as a Source; None when it is something else.

    Args:
        kind: "image", "audio" or "video", for messages.

    Raises:
        UserError: no such file, not readable, empty, or larger than `limits.max_bytes`.
    """
    if isinstance(given, str | os.PathLike):
        path = check_file(given, kind)
        check_size(path.stat().st_size, str(path), limits)
        return Source(str(path), path)
    name = f"the {kind}"
    if callable(getattr(given, "read", None)):
        try:
            data = given.read(limits.max_bytes + 1)
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"cannot read {name}: {error}") from None
        if not isinstance(data, bytes):
            raise UserError(f"cannot read {name}: open its file in binary mode")
    elif isinstance(given, bytes | bytearray | memoryview):
        data = bytes(given)
    else:
        return None
    check_size(len(data), name, limits)
    return Source(name, data=data)


def check_size(size: int, name: str, limits: Limits) -> None:
    """Refuse an empty or too large file."""
    if not size:
        raise UserError(f"{name} is empty")
    if size > limits.max_bytes:
        raise UserError(f"{name} is larger than the limit of {limits.max_bytes:,} bytes")


def check_file(path: str | os.PathLike, kind: str) -> Path:
    """Refuse what is no readable regular file; `kind` names it in the message."""
    name = os.fspath(path)
    name = os.fsdecode(name) if isinstance(name, bytes) else name
    if not name:
        raise UserError(f"the {kind} file's name is empty")
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            raise UserError(f"{name} is a directory, no {kind} file")
        if not stat.S_ISREG(mode):
            raise UserError(f"{name} is not a regular file; copy the {kind} to one first")
        with open(name, "rb"):
            pass
    except FileNotFoundError:
        raise UserError(f"no such {kind} file: {name}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read the {kind} file {name!r}: {reason}") from None
    return Path(name)
