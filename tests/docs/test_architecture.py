"""The diagrams agree with the code: every box is a class, every arrow a call, both named in the text."""

import ast
import re

from manual.chapters import ROOT
from manual.links import CODE_LINK, symbols

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DIAGRAM = re.search(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)[1]
BOXES = {name for text in re.findall(r'\["(.*?)"\]', DIAGRAM) for name in text.split("<br/>")[0].split(", ")}
ARROWS = set(re.findall(r'-- "(\w+)" -->', DIAGRAM))
CAMEL = re.compile(r"\b[A-Z]\w*[a-z]\w*\b")


def linked() -> set[str]:
    """Classes and functions that the page links to."""
    found: set[str] = set()
    for match in CODE_LINK.finditer(PAGE):
        if match[2]:
            assert match[2] in symbols((ROOT / "docs" / match[1]).resolve()), match[0]
            found.update(match[2].split("."))
    return found


def test_every_box_is_a_class_and_every_arrow_a_call_named_in_the_text():
    assert len(BOXES) > 14 and all(name[0].isupper() for name in BOXES)
    assert len(ARROWS) > 14 and all(name[0].islower() for name in ARROWS)
    assert not (BOXES | ARROWS) - linked()


def test_every_arrow_is_called_by_the_model_or_its_inference():
    called = set()
    for path in (*(ROOT / "models").rglob("*.py"), *(ROOT / "inference").rglob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        called |= {getattr(func, "attr", getattr(func, "id", "")) for func in calls}
    assert not ARROWS - called


def test_the_readme_draws_the_same_classes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = re.search(r"## How it works\n\n```\n(.*?)```", readme, re.DOTALL)[1]
    names = set(CAMEL.findall(drawn))
    assert {"VisionEncoder", "AudioEncoder", "OmniModel", "Thinker", "Talker", "Vocoder"} <= names
    assert not names - BOXES
