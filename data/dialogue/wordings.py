"""Wordings of the kinds that have theirs in wordings.json, and other lists beside it."""

from __future__ import annotations

from pathlib import Path

from data.word_lists import read_lists

WORDINGS: dict[str, tuple[str, ...]] = read_lists(__file__, "wordings")
LISTS: dict = read_lists(__file__, "lists")
SPELLED: tuple[str, ...] = tuple(
    Path(__file__).with_name("spelling.txt").read_text(encoding="utf-8").split()
)
STORIES: dict = read_lists(__file__, "stories")
