"""What people say, as text: lines that a Thinker learns to expect, so that it can choose among readings.

A transcript is chosen by ears, table of words and Thinker (inference/spelling.py). A Thinker that has
met these sentences only in the middle of pages, or as answers to sounds, expects them less well than the
table does. So stage `words` leaves the lines it has counted, and the joint stage teaches them, in letters
as ears spell and each by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from models.expectation import line_ids
from models.files import reading, replacing
from models.tokenizer import Tokenizer

SPOKEN = "spoken.txt"  # lines that the table `unheard` counts, each once
LINES = 32  # that stand for one lesson: they are short


def save_lines(folder: Path, lines: Iterable[str]) -> None:
    """Write the lines, each once."""
    text = "".join(f"{line}\n" for line in dict.fromkeys(lines))
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


def line_lessons(tokenizer: Tokenizer, lines: list[str], rng: random.Random) -> list[dict]:
    """LINES of them, by lot."""
    return [line_lesson(tokenizer, lines[rng.randrange(len(lines))]) for _ in range(LINES)]
