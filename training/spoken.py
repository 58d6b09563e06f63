"""What people say, as text: the lines that stage `words` has counted, for stage `expectation` to learn."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from models.expectation import line_ids
from models.files import reading, replacing
from models.tokenizer import Tokenizer

SPOKEN = "spoken.txt"  # in letters as ears spell


def save_lines(folder: Path, lines: Iterable[str]) -> None:
    """Write the lines."""
    text = "".join(f"{line}\n" for line in lines)
    with replacing(folder / SPOKEN) as temporary:
        temporary.write_text(text, encoding="utf-8")


def load_lines(folder: Path) -> list[str]:
    """The lines that stage `words` has left.

    Raises:
        UserError: it has left none.
    """
    path = folder / SPOKEN
    with reading(path, "a list of lines", "`python train.py words`"):
        return path.read_text(encoding="utf-8").splitlines()


def whole_lesson(ids: list[int]) -> dict:
    """Text that is learnt whole, whoever said it."""
    return {"ids": ids, "targets": ids, "images": [], "sounds": []}


def line_lesson(tokenizer: Tokenizer, line: str) -> dict:
    """A line by itself."""
    return whole_lesson(line_ids(tokenizer, line))
