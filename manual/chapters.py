"""The chapters of docs/tutorial as programs: finding their code blocks and running them.

All blocks of a chapter run in one namespace, in order. A block after `<!-- slow -->` is left to
`make docs`; a block inside `<details>` is the solution of an exercise; a fence marked `output` after
a block shows what it printed when `make docs` last ran. Nothing here decides what a chapter says.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial"
FIGURES = Path("docs") / "figures"  # from the root, and from the workbench


@dataclass(frozen=True)
class Block:
    """One ```python fence of a page."""

    code: str
    line: int  # of the fence, from 1
    end: int  # of the closing fence
    slow: bool
    solution: bool


def chapters() -> list[Path]:
    """The pages of the tutorial in reading order."""
    return sorted(TUTORIAL.glob("[0-9]*.md"))


def find_blocks(text: str) -> list[Block]:
    """Python fences of a page, in order."""
    found, inside, opened, slow = [], 0, None, False
    fence, before = "", ""  # language of the fence we are in, last line that was not blank
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if opened is None:
            inside += line.count("<details") - line.count("</details>")
            if line.startswith("```"):
                fence, opened, slow = line[3:].strip(), number, before == "<!-- slow -->"
        elif line.startswith("```"):
            if fence == "python":
                code = "\n".join(lines[opened : number - 1])
                found.append(Block(code, opened, number, slow, inside > 0))
            opened = None
        before = line.strip() or before
    return found


@contextlib.contextmanager
def workbench(folder: Path) -> Iterator[Path]:
    """A folder that looks like the repository but has its own docs/figures; it is made current."""
    for path in ROOT.iterdir():
        if path.name not in ("docs", "build", "runs", ".git"):
            (folder / path.name).symlink_to(path)
    (folder / FIGURES).mkdir(parents=True)
    for path in (ROOT / "docs").iterdir():
        if path.name != "figures":
            (folder / "docs" / path.name).symlink_to(path)
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


def run_chapter(path: Path, slow: bool) -> dict[int, str]:
    """Run a chapter's blocks, slow ones too if asked, in the current folder.

    Returns what each block printed, by the line of its closing fence.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    namespace = {"__name__": "__main__"}
    printed = {}
    try:
        for block in find_blocks(path.read_text(encoding="utf-8")):
            if block.slow and not slow:
                continue
            # Blank lines in front: a traceback then names the line of the page.
            program = compile("\n" * block.line + block.code, str(path), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(program, namespace)
            printed[block.end] = out.getvalue()
    finally:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    return printed


def with_outputs(text: str, printed: dict[int, str]) -> str:
    """The page with its `output` fences renewed. Only blocks that have such a fence get one."""
    lines, out, number = text.splitlines(), [], 0
    while number < len(lines):
        out.append(lines[number])
        number += 1
        if number in printed and re.match(r"\s*\n```output\n", "\n".join(lines[number:]) + "\n"):
            start = lines.index("```output", number)
            end = lines.index("```", start)
            said = [line.rstrip() for line in printed[number].rstrip().splitlines()]
            out += ["", "```output", *said, "```"]
            number = end + 1
    return "\n".join(out) + "\n"
