"""A rule: a pattern, and what a match of it is read as. Rules run in order over the whole text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def rule(pattern: str, read: Callable[[re.Match[str]], str] | str, any_case: bool = False) -> Rule:
    """A rule from a pattern; `read` is a function of the match, or words that replace it."""
    compiled = re.compile(pattern, re.IGNORECASE if any_case else 0)
    return compiled, (lambda match: f" {read} ") if isinstance(read, str) else read


def apply(rules: Iterable[Rule], text: str) -> str:
    """All rules, one after another."""
    for pattern, read in rules:
        text = pattern.sub(read, text)
    return text


def either(words: Iterable[str]) -> str:
    """A pattern of alternatives, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
