"""What is generated from source is up to date, and notebooks run."""

import re

import pytest

from manual import notebooks, reference
from manual.chapters import ROOT, workbench
from manual.links import broken, code_links

PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("maker", [reference, notebooks], ids=["reference", "notebooks"])
def test_generated_pages_are_up_to_date(maker):
    name = maker.__name__.split(".")[-1]
    stale = [
        path.name
        for path, text in maker.contents().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    assert not stale, f"run `python -m manual {name}`"


def test_reference_holds_flags_fields_and_functions():
    pages = {path.stem: text for path, text in reference.contents().items()}
    assert "| `--text`, `--prompt` |" in pages["flags"]
    assert "| `temperature` | `float` | `0.0` | 0 = greedy |" in pages["config"]
    assert "### chat" in pages["api"] and "(../../models/thinker.py#Thinker)" in pages["api"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_to_code_lead_to_symbols(page):
    assert not broken(page)


def test_the_museum_names_ten_failures_and_their_tests():
    page = ROOT / "docs" / "tutorial" / "19-failure-museum.md"
    exhibits = re.split(r"^## \d+\. ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(exhibits) >= 10
    assert all("Caught by [`test_" in exhibit for exhibit in exhibits)
    tests = [symbol for path, symbol in code_links(page) if "tests" in path.parts]
    assert len(tests) >= len(exhibits) and all(name.startswith("test_") for name in tests)


def test_a_notebook_runs(tmp_path):
    with workbench(tmp_path):
        notebooks.execute(notebooks.FOLDER / "12-codec-listening.ipynb", tmp_path, skip_slow=True)
