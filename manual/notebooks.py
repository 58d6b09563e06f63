"""Notebooks made of chapters: docs/notebooks. They are never edited, only made again."""

from __future__ import annotations

import json
import re
from pathlib import Path

from manual.chapters import ROOT, TUTORIAL, find_blocks

FOLDER = ROOT / "docs" / "notebooks"
CHAPTERS = ("01-first-conversation", "05-train-in-minutes", "12-codec-listening")
START = """import os
import sys

while not os.path.isdir("checkpoints"):  # up to the folder of the clone
    os.chdir("..")
sys.path.insert(0, os.getcwd())"""
OUTPUT = re.compile(r"```output\n.*?```\n?", re.DOTALL)
PAGE = re.compile(r"\]\((\d\d-[\w-]+\.md)\)")  # another chapter


def notebook(text: str) -> dict:
    """A chapter as a notebook without outputs."""
    lines, cells, at = text.splitlines(), [], 0

    def add(kind: str, source: str) -> None:
        if not source.strip():
            return
        cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": source.strip().splitlines(keepends=True)})

    def words(part: list[str]) -> str:
        page = OUTPUT.sub("", "\n".join(part) + "\n")
        page = re.sub(r"<details.*?</summary>", "*Solution*", page)
        page = page.replace("</details>", "").replace("<!-- slow -->", "*Takes a minute or two:*")
        return PAGE.sub(r"](../tutorial/\1)", page)

    add("code", START)
    for block in find_blocks(text):
        add("markdown", words(lines[at : block.line - 1]))
        add("code", block.code)
        at = block.end
    add("markdown", words(lines[at:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def contents() -> dict[Path, str]:
    """What each notebook file should hold."""
    return {
        FOLDER / f"{name}.ipynb": json.dumps(
            notebook((TUTORIAL / f"{name}.md").read_text(encoding="utf-8")),
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
        for name in CHAPTERS
    }


def execute(path: Path, folder: Path, skip_slow: bool) -> None:
    """Run a notebook from start to end with `folder` as its root; any error is raised."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    if skip_slow:
        slow = [block.code for block in find_blocks(page_of(path)) if block.slow]
        book.cells = [cell for cell in book.cells if cell.source not in slow]
    NotebookClient(book, timeout=1200, resources={"metadata": {"path": str(folder)}}).execute()


def page_of(path: Path) -> str:
    """The chapter that a notebook was made of."""
    return (TUTORIAL / f"{path.stem}.md").read_text(encoding="utf-8")
