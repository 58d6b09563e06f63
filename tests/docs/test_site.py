"""The site builds without a warning; formulas, diagrams, sounds and links to lines of code are in it."""

import re

from mkdocs.commands.build import build
from mkdocs.config import load_config

from manual.chapters import ROOT, chapters


def test_site_builds_without_a_warning(tmp_path):
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    build(config)  # strict: a warning is an error
    pages = {path.stem: (tmp_path / "tutorial" / f"{path.stem}.html") for path in chapters()}
    assert all(page.is_file() for page in pages.values())
    text = pages["04-thinker"].read_text(encoding="utf-8")
    assert "<math" in text and "arithmatex" not in text
    assert "code/models/block.py.html#__codelineno-0-" in text
    assert "<audio" in pages["12-codec-listening"].read_text(encoding="utf-8")
    first = pages["01-first-conversation"].read_text(encoding="utf-8")
    assert '<div class="diagram"><svg' in first and 'class="mermaid"' not in first
    formulas = [f for p in pages.values() for f in re.findall(r"<math.*?</math>", p.read_text("utf-8"))]
    assert len(formulas) > 20
    assert not [formula for formula in formulas if "\\" in formula], "a command was not understood"
    source = (tmp_path / "code" / "models" / "block.py.html").read_text(encoding="utf-8")
    assert 'id="__codelineno-0-1"' in source or 'name="__codelineno-0-1"' in source
