"""Links from the manual to code: `[text](../../models/block.py#Attention.forward)`.

The part after # names a symbol: a class, function, method, field or constant. On the site the
link leads to the very line; a test checks that each symbol exists.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from manual.chapters import ROOT

CODE_LINK = re.compile(r"\]\(((?:\.\./)+[\w./-]+\.(?:py|yaml|toml|txt))(?:#([\w.]+))?\)")


@cache
def symbols(path: Path) -> dict[str, int]:
    """Lines of the classes, functions, methods and assignments of a Python file, by dotted name."""
    found: dict[str, int] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[prefix + node.name] = node.lineno
                if isinstance(node, ast.ClassDef):
                    collect(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[prefix + node.target.id] = node.lineno
            elif isinstance(node, ast.Assign):
                names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                found.update({prefix + name: node.lineno for name in names})

    collect(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def code_links(page: Path) -> list[tuple[Path, str | None]]:
    """Files of the repository that a page links to, and the symbol each link names."""
    text = page.read_text(encoding="utf-8")
    return [((page.parent / m[1]).resolve(), m[2]) for m in CODE_LINK.finditer(text)]


def broken(page: Path) -> list[str]:
    """Code links of a page that lead nowhere."""
    lost = []
    for path, symbol in code_links(page):
        name = f"{path.relative_to(ROOT)}#{symbol or ''}"
        if not path.is_file() or (symbol and symbol not in symbols(path)):
            lost.append(name)
    return lost
