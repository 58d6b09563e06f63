"""Words that are written out -> the list that the front end reads: a-z, apostrophes, pauses."""

from __future__ import annotations

import re
import unicodedata

from inference.normalisation.rules import Rule, apply, rule
from inference.normalisation.tables import LETTER_NAMES

STRENGTH = ",.!?"  # of two marks in a row the later one here stays
PAUSES = {",": ",", ";": ",", ":": ",", ".": ".", "!": "!", "?": "?", "(": ",", ")": ",",
          "–": ",", "—": ",", "…": ".", "\n": "."}
LATIN = {"æ": "ae", "œ": "oe", "ø": "o", "ß": "ss", "ð": "th", "þ": "th", "ł": "l", "đ": "d",
         "ı": "i", "Æ": "Ae", "Œ": "Oe", "Ø": "O", "Ł": "L", "Đ": "D", "Þ": "Th", "’": "'",
         "‘": "'", "ʼ": "'", "′": "'", "″": '"', "“": '"', "”": '"', "µ": "μ", "\u2011": "-",
         "\u2010": "-", "\u2212": "−", "⁄": "/", "\u00a0": " ", "\u202f": " "}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
SMALL_WORDS = {"a", "i", "o"}  # single letters that are words
VOWELLESS = {"hmm", "shh", "mm", "psst", "brr", "tsk", "pfft", "n'"}

CHARACTERS: list[Rule] = [
    rule(r"№|\b[nN][°º](?=\s?\d)", "number"),
    rule(r"[-=]>|[→⇒]", " "),
    rule(r"!=|≠", "≠"),
    rule(r"<=|⩽", "≤"),
    rule(r">=|⩾", "≥"),
    rule(r"[⁻⁰¹²³⁴-⁹]+", lambda m: "^" + m[0].translate(SUPERSCRIPTS)),
    rule(r"(\d?)([¼-¾⅐-⅞])", lambda m: f"{m[1]}{' ' if m[1] else ''}{unicodedata.normalize('NFKC', m[2])}"),
    rule(r"[™®\u200d\ufe0f\u20e3]", lambda m: ""),
]


def plain_characters(text: str) -> str:
    """Typographic forms as plain ones: quotes, digits of all scripts, raised and lowered digits."""
    text = apply(CHARACTERS, text.translate(SUBSCRIPTS))
    text = "".join(c if c == "…" else unicodedata.normalize("NFKC", c) for c in text)
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return "".join(LATIN.get(c, c) for c in text)


def to_words(text: str) -> list[str]:
    """Lower-case words, with one mark at most between two of them."""
    text = "".join(PAUSES.get(c, c) for c in text).lower()
    text = unicodedata.normalize("NFKD", text)
    text = "".join(LATIN.get(c, c) for c in text if not unicodedata.combining(c))
    spoken: list[str] = []
    for piece in re.findall(r"[a-z]+(?:'[a-z]+)*'?|[,.!?]", text):
        if piece in STRENGTH:
            if spoken and spoken[-1] in STRENGTH:
                spoken[-1] = max(spoken[-1], piece, key=STRENGTH.index)
            else:
                spoken.append(piece)
        else:
            spoken += _say(piece)
    return spoken


def _say(word: str) -> list[str]:
    """A word, or the names of its letters when it has no vowel."""
    word = word.rstrip("'")
    if len(word) == 1 and word not in SMALL_WORDS:
        return LETTER_NAMES[word].split()
    if len(word) > 1 and not re.search(r"[aeiouy]", word) and word not in VOWELLESS:
        return [part for c in word if c in LETTER_NAMES for part in LETTER_NAMES[c].split()]
    return [word]
