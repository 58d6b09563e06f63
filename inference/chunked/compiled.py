"""Compiled forms of programs, kept beside them, and found again by what they were made for.

A note beside each (`NAME.json`) names the source's digest, the runtime and the processor. Where
any of them is another now, the form is made anew. All of it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from inference.native.library import processor
from inference.notice import notice


class Compiled:
    """The compiled form of one program.

    Args:
        source: the program: a file, or a package, which is a folder.
        suffix: of the compiled form, in the place of the source's own.
        runtime: name and version of what reads it.
    """

    def __init__(self, source: Path, suffix: str, runtime: str) -> None:
        self.source, self.runtime = source, runtime
        self.path = source.with_name(source.stem + suffix)
        self.note = self.path.with_name(self.path.name + ".json")

    @cached_property
    def made_for(self) -> dict[str, str]:
        """What a form depends on."""
        machine = hashlib.sha256(processor().encode()).hexdigest()
        return {"source": digest(self.source), "runtime": self.runtime, "processor": machine}

    def fits(self) -> bool:
        """Whether there is one for this source, runtime and processor."""
        if not self.path.exists():
            return False
        try:
            noted = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            noted = None
        if noted == self.made_for:
            return True
        notice(f"{self.path} was made for another program, runtime or processor: made again")
        return False

    def wanted(self, asked: bool) -> bool:
        """Whether one is to be written: asked for, or in the place of one that does not fit."""
        if not asked and not self.path.exists():
            return False
        if os.access(self.path.parent, os.W_OK):
            return True
        notice(f"{self.path.parent} cannot be written: nothing compiled is kept there")
        return False

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """A path to write a new form to, which is in its place after the block."""
        with TemporaryDirectory(dir=self.path.parent, prefix=".compiling-") as folder:
            made = Path(folder) / self.path.name
            yield made
            self.note.unlink(missing_ok=True)
            if self.path.is_dir():
                shutil.rmtree(self.path)
            for part in Path(folder).iterdir():  # large weights stand in a file of their own
                os.replace(part, self.path.with_name(part.name))
            self.note.write_text(json.dumps(self.made_for, indent=2) + "\n", encoding="utf-8")


def digest(source: Path) -> str:
    """SHA-256 of a file, of the files beside it that hold its weights, or of all files of a folder."""
    beside = source.with_name(source.name + ".data")
    files = sorted(source.rglob("*")) if source.is_dir() else [source, beside]
    total = hashlib.sha256()
    for path in files:
        if path.is_file():
            total.update(path.name.encode())
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
