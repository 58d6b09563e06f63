"""Letters: the alphabet in which the ears spell what they hear, and text written in it.

A token every 80 ms is slower than people speak letters (about 14 a second), so each is given four
slots; a slot holds a letter or the blank of CTC, label 0.
"""

import re

LETTERS = " 'abcdefghijklmnopqrstuvwxyz"  # labels 1, 2, …
BLANK = 0
LABELS = len(LETTERS) + 1
SLOTS = 4  # a token


def spoken_letters(text: str) -> str:
    """Text as the ears spell it: lower-case letters, apostrophes and single spaces."""
    return " ".join(re.sub(r"[^a-z' ]", " ", text.lower()).split())
