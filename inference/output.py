"""Writing results: an existing file is replaced only by a complete new one.

`check_audio_path` runs before the long work, so that a wrong path costs nothing.
"""

import os
from pathlib import Path

import numpy as np

from models.errors import UserError

AUDIO_FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG"}


def check_audio_path(path: str | Path) -> Path:
    """Refuse what `write_audio` could not write: a format, a folder, a place."""
    path = Path(path)
    if path.suffix.lower() not in AUDIO_FORMATS:
        raise UserError(f"{path}: write speech to a name ending in {', '.join(AUDIO_FORMATS)}")
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
    samples = np.clip(np.asarray(samples, dtype=np.float32), -1.0, 1.0)

    def write(temporary: Path) -> None:
        soundfile.write(temporary, samples, rate, format=kind, subtype=subtype)

    _replace(path, write)


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8."""
    _replace(check_writable(path), lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _temporary(path: Path) -> Path:
    return path.parent / f".{os.getpid()}.{path.name[:100]}.tmp"


def _replace(path: Path, write) -> None:
    temporary = _temporary(path)
    try:
        write(temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # soundfile's errors are RuntimeErrors
        raise UserError(f"cannot write {path}: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
