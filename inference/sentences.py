"""Sentences of a text, also of one that is still being written. What can be said is not asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

SENTENCE_CHARACTERS = 240  # longer sentences are cut at a comma or a blank
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")
SHORT_FORM = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Mt|vs|No)\.$")


def sentences(text: str | Iterable[str]) -> Iterator[str]:
    """Pieces to be said one after another, each as soon as it is certain that it is whole.

    Args:
        text: all of it, or its parts as they are written; how it is cut does not depend on them.
    """
    written, given = "", 0
    for part in [text] if isinstance(text, str) else text:
        written += part
        whole = split_sentences(written)[:-1]  # the last may go on
        yield from whole[given:]
        given = max(given, len(whole))
    yield from split_sentences(written)[given:]


def split_sentences(text: str) -> list[str]:
    """The pieces of a finished text; abbreviations ("Dr.", "J.") do not end one."""
    pieces: list[str] = []
    for part in SENTENCE_END.split(text):
        if pieces and SHORT_FORM.search(pieces[-1]) and part.strip():
            pieces[-1] = f"{pieces[-1]} {part}"
        elif part.strip():
            pieces.append(part.strip())
    return [short for piece in pieces for short in _cut(piece)]


def _cut(piece: str) -> list[str]:
    out = []
    while len(piece) > SENTENCE_CHARACTERS:
        head = piece[:SENTENCE_CHARACTERS]
        at = max(head.rfind(", "), head.rfind("; ")) + 1 or head.rfind(" ")
        at = at if at > 0 else SENTENCE_CHARACTERS
        out.append(piece[:at].strip())
        piece = piece[at:].strip()
    return [*out, piece]
