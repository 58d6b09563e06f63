"""Wordings of the kinds that have theirs in wordings.json, and the lists of lists.json."""

from __future__ import annotations

from pathlib import Path

from models.checkpoint import read_json

_HERE = Path(__file__).parent
WORDINGS: dict[str, tuple[str, ...]] = {
    kind: tuple(wordings) for kind, wordings in read_json(_HERE / "wordings.json").items()
}
LISTS: dict = read_json(_HERE / "lists.json")
SPELLED: tuple[str, ...] = tuple((_HERE / "spelling.txt").read_text(encoding="utf-8").split())
STORIES: dict = read_json(_HERE / "stories.json")
