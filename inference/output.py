"""Writing results: an existing file is replaced only by a complete new one.

`check_audio_path` runs before the long work, so that a wrong path costs nothing. Sound that comes
in chunks goes into an `AudioFile` or a `WavStream`.
"""

import io
import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from models.errors import UserError
from models.files import replacing

AUDIO_FORMATS = {  # ending -> libsndfile's container and coding
    ".wav": ("WAV", "PCM_16"),
    ".flac": ("FLAC", "PCM_16"),
    ".ogg": ("OGG", "VORBIS"),
    ".opus": ("OGG", "OPUS"),
    ".mp3": ("MP3", "MPEG_LAYER_III"),
}
CHUNK = 16_000  # samples encoded at once: libsndfile's stack ends under a long row
UNKNOWN = 0xFFFFFFFF  # bytes: the length of a stream that has not ended, as ffmpeg writes it


def check_audio_path(path: str | Path) -> Path:
    """Refuse what `write_audio` could not write: a format, a folder, a place."""
    return check_path(path, AUDIO_FORMATS, "speech")


def check_page_path(path: str | Path) -> Path:
    """Refuse a page that no browser would open by its name, and a place where none can be written."""
    return check_path(path, (".html", ".htm"), "the page")


def check_path(path: str | Path, endings, what: str) -> Path:
    """Refuse a name that does not end in one of `endings`, and a place that cannot be written."""
    if Path(path).suffix.lower() not in endings:
        raise UserError(f"{path}: write {what} to a name ending in {', '.join(endings)}")
    return check_writable(path)


def check_writable(path: str | Path) -> Path:
    """Refuse a path at which no file can be written, by trying a temporary one beside it."""
    path = Path(path)
    try:
        target = Path(os.path.realpath(path))  # a link stays one: what it names is written
        temporary = target.parent / f".{os.getpid()}.{target.name[:100]}.tmp"
        if target.is_dir():
            raise UserError(f"{path} is a directory: name a file to write")
        if not target.parent.is_dir():
            raise UserError(f"{path}: the folder {target.parent} does not exist; make it first")
        if target.exists() and not target.is_file():
            raise UserError(f"{path} is not a regular file: name one to write")
        with open(temporary, "xb"):
            pass
        temporary.unlink()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot write {path}: {_reason(error)}") from error
    return path


def check_apart(out: str | Path, read: Iterable[str | Path]) -> None:
    """Refuse to write over a file that is read."""
    for path in read:
        if os.path.exists(out) and os.path.samefile(out, path):
            raise UserError(f"{out} is what you ask about and would be lost: name another file to write")


def write_audio(path: str | Path, samples: np.ndarray, rate: int) -> None:
    """Write float samples in [-1, 1] in the format of the name's ending (AUDIO_FORMATS)."""
    import soundfile

    path = check_audio_path(path)
    container, coding = AUDIO_FORMATS[path.suffix.lower()]
    whole = pcm16(samples)  # (samples,)

    def write(temporary: Path) -> None:
        encoded = io.BytesIO()  # soundfile takes no odd names, and prints tracebacks of a full disk
        with soundfile.SoundFile(encoded, "w", rate, 1, coding, format=container) as file:
            for start in range(0, len(whole), CHUNK):
                file.write(whole[start : start + CHUNK])
        temporary.write_bytes(encoded.getvalue())

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
    content = text.encode("utf-8", "replace")  # a command line may hold other bytes
    replace_file(check_writable(path), lambda temporary: temporary.write_bytes(content))


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Put what `write` makes at a temporary path in the place of `path`."""
    try:
        with replacing(path) as temporary:
            write(temporary)
    except (OSError, RuntimeError) as error:  # soundfile's errors are RuntimeErrors
        raise UserError(f"cannot write {path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
