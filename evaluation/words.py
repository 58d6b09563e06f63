"""Word and letter errors of a transcript: case, punctuation and digits do not count."""

from __future__ import annotations

from difflib import SequenceMatcher

from torchaudio.functional import edit_distance

from inference.normalisation import can_say, normalise
from models.phones import MARKS

SPELLINGS = {"colour": "color", "grey": "gray"}  # both are taught and sound alike


def spoken_words(text: str) -> list[str]:
    """Lower-case words as they are said: numbers in words, no punctuation. None of silence."""
    if not can_say(text):
        return []
    said = [SPELLINGS.get(word, word) for word in normalise(text)]
    return [word for word in said if word not in MARKS]


def word_errors(truth: str, said: str) -> tuple[int, int]:
    """(errors, words of the truth)."""
    true = spoken_words(truth)
    return edit_distance(true, spoken_words(said)), len(true)


def letter_errors(truth: str, said: str) -> tuple[int, int]:
    """(errors, letters of the truth), blanks between words counted."""
    true = " ".join(spoken_words(truth))
    return edit_distance(list(true), list(" ".join(spoken_words(said)))), len(true)


def skips_and_repeats(truth: str, said: str) -> tuple[bool, bool]:
    """(two or more neighbouring words are lost, some words are heard twice).

    A single lost word is mostly the judge's mistake, not the speaker's.
    """
    true, heard = spoken_words(truth), spoken_words(said)
    skipped = repeated = False
    for _, i, j, k, m in _differences(true, heard):
        skipped |= (j - i) - (m - k) >= 2
        extra = heard[k:m] if i == j else []
        beside = true[max(0, i - len(extra)) : i], true[i : i + len(extra)]
        repeated |= bool(extra) and extra in beside
    return skipped, repeated


def letter_errors_of(words: set[str], truth: str, said: str) -> tuple[int, int]:
    """(errors, letters) of these words alone, each against the nearest word heard in its place."""
    true, heard = spoken_words(truth), spoken_words(said)
    errors = 0
    for _, i, j, k, m in _differences(true, heard):
        for word in true[i:j]:
            if word in words:
                nearest = min((edit_distance(list(word), list(h)) for h in heard[k:m]), default=99)
                errors += min(nearest, len(word))
    return errors, sum(len(word) for word in true if word in words)


def _differences(true: list[str], heard: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Where true[i:j] was heard as heard[k:m]."""
    opcodes = SequenceMatcher(None, true, heard, autojunk=False).get_opcodes()
    return [code for code in opcodes if code[0] != "equal"]
