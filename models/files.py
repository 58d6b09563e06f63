"""Files that are replaced whole: a reader sees the old one or the complete new one. And tables, read."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from models.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` if the block succeeds.

    It ends in the same letters, as writers go by a file's suffix. After an error nothing is left of
    it, and `path` is as it was. A link stays: the file it names is written.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{os.getpid()}.{path.name[-100:]}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode  # whom the user lets read; safetensors lets nobody else
        temporary.unlink()
        yield temporary
        temporary.chmod(mode)
        os.replace(temporary, path)
    except SafetensorError as error:  # of a full disk
        raise UserError(f"cannot write {path}: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def replace_folder(fresh: Path, final: Path) -> Path:
    """Put a finished folder in the place of an older one; returns where it is."""
    old = final.with_name(f"{final.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        final.rename(old)
    fresh.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    return final


@contextmanager
def reading(path: str | Path, what: str, command: str) -> Iterator[None]:
    """Reading a table within the block; what goes wrong there is a UserError that says how to make one."""
    try:
        yield
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path} is not {what} ({error}): make one with {command}") from error
