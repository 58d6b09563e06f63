"""Text normalisation: text -> words as they are said.

Numbers, dates, times, money, units, codes, abbreviations, acronyms, addresses and marks become
words. The result is a list of lower-case words of a-z and apostrophes, with the marks "," "." "?" "!"
where a phrase ends. Letters of other scripts are reduced to Latin where Unicode decomposes them, else
left out. How a word sounds is the front end's business.
"""

from __future__ import annotations

import re

from inference.normalisation.codes import DIGITS, MIXED, VERSIONS
from inference.normalisation.dates import DATES, TIMES, YEARS
from inference.normalisation.money import MONEY
from inference.normalisation.names import LETTERS, NAMES, WEB
from inference.normalisation.quantities import MEASURES, NUMBERS
from inference.normalisation.rules import apply
from inference.normalisation.tables import LETTER_NAMES
from inference.normalisation.words import STRENGTH as MARKS
from inference.normalisation.words import plain_characters, to_words
from inference.notice import notice
from models.errors import UserError

RULES = [
    *WEB, *DIGITS, *DATES, *TIMES, *VERSIONS, *MONEY, *NAMES, *YEARS, *MEASURES, *MIXED,
    *LETTERS, *NUMBERS,
]

OTHER_SCRIPTS = re.compile(r"[^\W\d_\u0000-\u036f\u1e00-\u1eff]+")  # letters that are not Latin


def normalise(text: str) -> list[str]:
    """Words and marks of `text`; never empty.

    Raises:
        UserError: nothing in it can be said.
    """
    read = _read(text)
    spoken = to_words(read)
    while spoken and spoken[0] in MARKS:
        spoken.pop(0)
    lost = OTHER_SCRIPTS.findall(read)
    if not spoken:
        why = "only Latin letters can be spoken" if lost else "give it words, numbers or symbols"
        raise UserError(f"nothing to say in {text[:40]!r}: {why}")
    if lost:
        notice(f"left out, since only Latin letters can be spoken: {' '.join(lost)[:60]}")
    return [LETTER_NAMES["a"]] if [w for w in spoken if w not in MARKS] == ["a"] else spoken


def can_say(text: str) -> bool:
    """Whether anything in `text` is speakable."""
    return any(word not in MARKS for word in to_words(_read(text)))


def _read(text: str) -> str:
    return apply(RULES, plain_characters(text.strip()))


__all__ = ["LETTER_NAMES", "can_say", "normalise"]
