"""Whether a reply is right: the same words as an accepted answer, or what a rule asks for.

Rules, for answers of which there are too many to list:
    ("story", thing): at least five sentences, none twice, the thing named
    ("names", count, *of): so many different members of a list
"""

from __future__ import annotations

import re

from data.dialogue import numbers
from data.dialogue.told import plural

_NUMBER = {numbers.words(n): n for n in (*range(21), 30, 40, 50, 60, 70, 80, 90)}
_TENS_DIGITS = {str(n) for n in range(20, 100, 10)}
SENTENCES = 5  # of a story, at least


def normalise(text: str) -> list[str]:
    """Words without case, punctuation, articles; numbers as digits. Spelled letters all stay."""
    text = text.lower().replace("'", "").replace("grey", "gray").replace("colour", "color")
    tokens = re.findall(r"[^\W_]+", text)
    if not all(len(token) == 1 for token in tokens):
        tokens = [token for token in tokens if token not in ("a", "an", "the")]
    plain: list[str] = []
    for token in tokens:
        value = _NUMBER.get(token)
        if value is not None and 0 < value < 10 and plain and plain[-1] in _TENS_DIGITS:
            plain[-1] = str(int(plain[-1]) + value)
        else:
            plain.append(token if value is None else str(value))
    return plain


def score_turn(reply: str, check: dict) -> bool:
    """Whether a reply says the same as an accepted answer, or keeps the rule of the check."""
    said = normalise(reply)
    if any(said == normalise(right) for right in [check["answer"], *check["accept"]]):
        return True
    if not check.get("rule"):
        return False
    rule, *values = check["rule"]
    return is_story(reply, *values) if rule == "story" else names_only(reply, *values)


def is_story(reply: str, thing: str) -> bool:
    """At least five sentences, none of them twice, and the thing is in it, of which training tells none."""
    sentences = [" ".join(normalise(s)) for s in re.split(r"[.!?]+", reply)]
    sentences = [s for s in sentences if s]
    names = "|".join(map(re.escape, (thing, plural(thing))))
    named = re.search(rf"\b({names})\b", reply, re.IGNORECASE) is not None
    return named and len(sentences) >= SENTENCES and len(set(sentences)) == len(sentences)


def names_only(reply: str, count: int, *of: str) -> bool:
    """So many different members of a list and nothing else, but for "and"."""
    said = re.split(r",|\band\b", re.sub(r"[.!?]", "", reply))
    found = [" ".join(normalise(part)) for part in said if normalise(part)]
    known = {" ".join(normalise(member)) for member in of}
    return len(found) == count and len(set(found)) == count and set(found) <= known
