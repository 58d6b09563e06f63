"""Writing results: an existing file is replaced only by a complete new one.

`check_audio_path` runs before the long work, so that a wrong path costs nothing. Sound that comes
in chunks goes into an `AudioFile` or a `WavStream`.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from models.errors import UserError
from models.files import replacing

AUDIO_FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG"}
UNKNOWN = 0xFFFFFFFF  # bytes: the length of a stream that has not ended, as ffmpeg writes it


def check_audio_path(path: str | Path) -> Path:
    """Refuse what `write_audio` could not write: a format, a folder, a place."""
    path = Path(path)
    if path.suffix.lower() not in AUDIO_FORMATS:
        raise UserError(f"{path}: write speech to a name ending in {', '.join(AUDIO_FORMATS)}")
    return check_writable(path)


def check_page_path(path: str | Path) -> Path:
    """Refuse a page that no browser would open by its name, and a place where none can be written."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{path}: write the page to a name ending in .html")
    return check_writable(path)


def check_writable(path: str | Path) -> Path:
    """Refuse a path at which no file can be written, by trying a temporary one beside it."""
    path = Path(path)
    temporary = _temporary(path)
    try:
        if path.is_dir():
            raise UserError(f"{path} is a directory: name a file to write")
        if not path.parent.is_dir():
            raise UserError(f"{path}: the folder {path.parent} does not exist; make it first")
        with open(temporary, "xb"):
            pass
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {_reason(error)}") from error
    return path


def write_audio(path: str | Path, samples: np.ndarray, rate: int) -> None:
    """Write float samples in [-1, 1] as 16-bit WAV or FLAC, or Ogg Vorbis, by the name's ending."""
    import soundfile

    path = check_audio_path(path)
    kind = AUDIO_FORMATS[path.suffix.lower()]
    subtype = "VORBIS" if kind == "OGG" else "PCM_16"

    def write(temporary: Path) -> None:
        soundfile.write(temporary, pcm16(samples), rate, format=kind, subtype=subtype)

    replace_file(path, write)


def pcm16(samples: np.ndarray) -> np.ndarray:
    """Float samples in [-1, 1] as 16-bit integers; what lies beyond is clipped. (samples,)"""
    scaled = np.asarray(samples, dtype=np.float32).clip(-1.0, 1.0) * 32767
    return np.rint(scaled).astype("<i2")


def wav_header(rate: int) -> bytes:
    """What opens a WAV stream of 16-bit mono samples whose length nobody knows yet."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return (
        struct.pack("<4sI4s", b"RIFF", UNKNOWN, b"WAVE")
        + form
        + struct.pack("<4sI", b"data", UNKNOWN)
    )


class WavStream:
    """Chunks of sound as WAV into a pipe; its header goes with the first chunk."""

    def __init__(self, out: BinaryIO, rate: int) -> None:
        self.out, self.head = out, wav_header(rate)

    def write(self, samples: np.ndarray) -> None:
        """Samples in [-1, 1], (samples,), sent on at once."""
        self.out.write(self.head + pcm16(samples).tobytes())
        self.out.flush()
        self.head = b""

    def __enter__(self) -> "WavStream":
        return self

    def __exit__(self, *_) -> None:
        pass  # the pipe is not ours to close


class AudioFile:
    """Chunks of sound for one file, written when all have come; after an error, not at all."""

    def __init__(self, path: str | Path, rate: int) -> None:
        self.path, self.rate = check_audio_path(path), rate
        self.chunks: list[np.ndarray] = []

    def write(self, samples: np.ndarray) -> None:
        """Samples in [-1, 1], (samples,)."""
        self.chunks.append(samples)

    def __enter__(self) -> "AudioFile":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None and self.chunks:
            write_audio(self.path, np.concatenate(self.chunks), self.rate)


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8."""
    replace_file(
        check_writable(path), lambda temporary: temporary.write_text(text, encoding="utf-8")
    )


def _temporary(path: Path) -> Path:
    return path.parent / f".{os.getpid()}.{path.name[:100]}.tmp"


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Put what `write` makes at a temporary path in the place of `path`."""
    try:
        with replacing(path) as temporary:
            write(temporary)
    except (OSError, RuntimeError) as error:  # soundfile's errors are RuntimeErrors
        raise UserError(f"cannot write {path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
