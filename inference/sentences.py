"""Sentences of a text, also of one that is still being written. What can be said is not asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from inference.normalisation import tables

SENTENCE_CHARACTERS = 240  # longer sentences are cut at a comma or a blank
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")
TITLES = "|".join(title.capitalize() for title in tables.TITLES)
SHORT_FORM = re.compile(rf"\b(?:[A-Z]|{TITLES}|{tables.SHORT_MONTHS}|vs|No|e\.g|i\.e|approx)\.$")
BEFORE_NUMBER = re.compile(rf"\b(?:{'|'.join(tables.NUMBERED)})\.$", re.IGNORECASE)  # "p. 5"
BEFORE_SMALL = re.compile(  # "8 oz. of milk", "Main St. is"
    r"(?:\d\s?(?:in|oz|ft|lbs?|hrs?|mins?|secs?|yd|mi)|\b(?:[ap]\.m|[A-Z]\.[A-Z]|Tues?|Wed|Thurs?|Fri|Mon"
    rf"|{'|'.join(s.capitalize() for s in tables.STREETS)}|{'|'.join(tables.ABBREVIATIONS)}|co))\.$",
    re.IGNORECASE,
)


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
        if pieces and part.strip() and _goes_on(pieces[-1], part.strip()[0]):
            pieces[-1] = f"{pieces[-1]} {part}"
        elif part.strip():
            pieces.append(part.strip())
    return [short for piece in pieces for short in _cut(piece)]


def _goes_on(piece: str, following: str) -> bool:
    """Whether the full stop is that of an abbreviation, by the character that follows."""
    return bool(
        SHORT_FORM.search(piece)
        or (following.isdigit() and BEFORE_NUMBER.search(piece))
        or ((following.islower() or following in "-–") and BEFORE_SMALL.search(piece))
    )


def _cut(piece: str) -> list[str]:
    out = []
    while len(piece) > SENTENCE_CHARACTERS:
        head = piece[:SENTENCE_CHARACTERS]
        at = max(head.rfind(", "), head.rfind("; ")) + 1 or head.rfind(" ")
        at = at if at > 0 else SENTENCE_CHARACTERS
        out.append(piece[:at].strip())
        piece = piece[at:].strip()
    return [*out, piece]
