"""The compiled pass of the Thinker as a shared library: found, or compiled at its first use.

It is kept beside the checkpoint, in `compiled/`, or in the user's cache where that cannot be
written. Its name is made of the source, torch's version and the processor. Anything else is compiled
again, and all of it may be deleted. A folder of weights from a stranger must never
run code, so a library beside a checkpoint is loaded only if this user's cache knows its digest.
"""

import ctypes
import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import torch

from inference.notice import notice
from models.processor import processor

FOLDER = Path(__file__).parent
SOURCES = tuple(
    FOLDER / name for name in ("decode.cpp", "attention.h", "formats.h", "matrix.h", "tiles.h")
)
FLAGS = (
    *("-O3", "-march=native", "-fopenmp"),
    *("-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"),  # no sum is reordered
)
ANSWERS = "plain PyTorch decodes instead: the same answers, slower"

_libraries: dict[str, ctypes.CDLL | str] = {}  # by key; text: why there is none


def library(checkpoint: Path | None, wait: bool = True) -> ctypes.CDLL | str:
    """The library, or the reason why there is none (a notice gives it once).

    Without `wait` none is compiled; a later call may do that.
    """
    key = machine_key()
    if key not in _libraries:
        try:
            if not wait and not usable(library_path(checkpoint, key)):
                return "nothing is compiled yet"
            _libraries[key] = load(checkpoint, key)
        except (OSError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())[:200]
            _libraries[key] = f"the decode step cannot be compiled here ({reason})"
            notice(f"{_libraries[key]}; {ANSWERS}. It needs g++")
    return _libraries[key]


def load(checkpoint: Path | None, key: str) -> ctypes.CDLL:
    """Open the library that belongs to the key, compiled now if there is none."""
    path = library_path(checkpoint, key)
    if not usable(path):
        notice("compiling the decode step for this processor, once (some 10 s) …")
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name("lock")):
            if not usable(path):  # another process may have made it meanwhile
                compile_to(path)
    opened = ctypes.CDLL(str(path))
    opened.run_positions.restype = ctypes.c_double
    return opened


def machine_key() -> str:
    """Names what a compiled step depends on: change any, and another one is wanted."""
    parts = [*FLAGS, torch.__version__, processor(), *texts(SOURCES)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]


@cache
def texts(files: tuple[Path, ...]) -> list[str]:
    """Contents of files, read once a process: every reply asks for the key."""
    return [file.read_text(encoding="utf-8") for file in files]


def user_cache() -> Path:
    """A folder that only this user writes: in the home, or until the next boot in the temporary one."""
    return cache_below(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@cache
def cache_below(chosen: str | None, home: str | None) -> Path:
    """The same for these settings; made, tried and said once a process."""
    try:
        path = (Path(chosen) if chosen else Path(home or Path.home()) / ".cache") / "muomni"
        path.mkdir(parents=True, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        pass
    path = Path(gettempdir()) / f"muomni-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if not alone(path):
        raise OSError(f"{path} is not this user's alone")
    notice(f"the home folder cannot be written: what is compiled is kept in {path}")
    return path


def alone(folder: Path) -> bool:
    """Whether this user owns a folder and nobody else writes it."""
    found = folder.lstat()
    others = found.st_mode & 0o022
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not others


def library_folder(checkpoint: Path | None) -> Path:
    """Where libraries are kept; MUOMNI_NATIVE_DIR names another place, as the tests do."""
    if chosen := os.environ.get("MUOMNI_NATIVE_DIR"):
        return Path(chosen)
    if checkpoint is not None:
        folder = checkpoint / "compiled"
        place = folder if folder.exists() else checkpoint.resolve()
        if place.is_dir() and alone(place) and os.access(place, os.W_OK):
            return folder
    return user_cache()


def library_path(checkpoint: Path | None, key: str) -> Path:
    """The file of this key, whether there is one or not."""
    return library_folder(checkpoint) / f"decode-{key}.so"


def usable(path: Path) -> bool:
    """Whether the file is there and this user compiled it."""
    return path.is_file() and (ours(path.parent) or mark(path).exists())


def ours(folder: Path) -> bool:
    """Whether nobody but the user puts files there, unlike into a folder of weights."""
    return folder in (user_cache(), library_folder(None))


def mark(path: Path) -> Path:
    """The empty file that says: this user compiled a library of this content."""
    return user_cache() / "compiled" / hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock among processes; the system frees it even when its holder is killed."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_to(path: Path) -> None:
    """Compile in a folder of its own, then move into place: nobody sees half a library."""
    with TemporaryDirectory(dir=path.parent) as folder:
        built = build(Path(folder))
        if not ours(path.parent):
            mark(built).parent.mkdir(parents=True, exist_ok=True)
            mark(built).touch()
        os.replace(built, path)


def build(folder: Path) -> Path:
    """The library, made in a folder. It shares PyTorch's OpenMP: two of them would have threads each."""
    compiler, made = os.environ.get("CXX", "c++"), folder / "decode.so"
    torch_folder = Path(torch.__file__).parent / "lib"
    link = ["-shared", "-Wl,--no-as-needed", f"-L{torch_folder}", "-ltorch_cpu"]
    run(compiler, "-std=c++17", "-fPIC", *FLAGS, "-c", SOURCES[0], "-o", folder / "decode.o")
    run(compiler, folder / "decode.o", *link, "-o", made)
    return made


def run(*command) -> None:
    """Run a program; what it says where it fails is the error."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
