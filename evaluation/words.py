"""Word and letter errors of a transcript: case, punctuation and digits do not count."""

from __future__ import annotations

from data.words import edit_distance
from models.normalizer import can_say, normalise


def spoken_words(text: str) -> list[str]:
    """Lower-case words as they are said: numbers in words, no punctuation. None of silence."""
    if not can_say(text):
        return []
    return [word for word in normalise(text) if word not in (",", ".")]


def word_errors(truth: str, said: str) -> tuple[int, int]:
    """(errors, words of the truth)."""
    true = spoken_words(truth)
    return edit_distance(true, spoken_words(said)), len(true)


def letter_errors(truth: str, said: str) -> tuple[int, int]:
    """(errors, letters of the truth), blanks between words counted."""
    true = " ".join(spoken_words(truth))
    return edit_distance(list(true), list(" ".join(spoken_words(said)))), len(true)
