"""The tutorial runs: every fast block, every solution; links, figures and exercises are there."""

import re

import pytest

from evaluation.plots import PLOTS
from manual.chapters import (
    FIGURES,
    ROOT,
    chapters,
    find_blocks,
    run_chapter,
    with_outputs,
    workbench,
)
from manual.links import broken, code_links

MADE = re.compile(r"(?:\.\./|\()figures/([\w.-]+)")
PAGES = [pytest.param(path, id=path.stem) for path in chapters()]


@pytest.mark.parametrize("page", PAGES)
def test_code_runs(page, tmp_path):
    with workbench(tmp_path):
        run_chapter(page, slow=False)


@pytest.mark.parametrize("page", PAGES)
def test_chapter_is_whole(page):
    text = page.read_text(encoding="utf-8")
    blocks = find_blocks(text)
    assert [b for b in blocks if not b.slow and not b.solution], "no experiment"
    assert text.count("<details") == text.count("</details>") >= 2, "fewer than two exercises"
    solutions = re.findall(r"<details.*?</details>", text, re.DOTALL)
    assert all("assert " in solution for solution in solutions), "a solution checks nothing"
    assert not [b for b in blocks if b.solution and b.slow], "a solution that the tests leave out"
    assert "$$" in text, "no formula"
    assert re.search(r"^## Papers$", text, re.MULTILINE)
    assert [symbol for _, symbol in code_links(page) if symbol], "no pointer to a line of code"
    assert not broken(page)


@pytest.mark.parametrize("page", PAGES)
def test_figures_and_sounds_are_made_by_the_page(page):
    text = page.read_text(encoding="utf-8")
    shown = set(MADE.findall(text))
    code = "\n".join(block.code for block in find_blocks(text))
    assert shown, "nothing to see or hear"
    assert not [name for name in shown if not (ROOT / FIGURES / name).is_file()]
    assert not [name for name in shown if f"docs/figures/{name}" not in code]


def test_there_are_chapters():
    assert 15 <= len(chapters()) <= 20


def test_figures_are_few_small_and_used():
    pages = [*chapters(), ROOT / "docs" / "listen.md"]
    used = {name for page in pages for name in MADE.findall(page.read_text(encoding="utf-8"))}
    files = list((ROOT / FIGURES).iterdir())
    assert {path.name for path in files} == used | set(PLOTS)
    assert sum(path.stat().st_size for path in files) < 3_000_000


def test_chapters_link_to_each_other_in_order():
    pages = chapters()
    for page, following in zip(pages, pages[1:]):
        assert f"]({following.name})" in page.read_text(encoding="utf-8"), page.name


def test_blocks_are_found_and_outputs_renewed():
    page = "\n".join(
        [
            "<!-- slow -->",
            "",
            "```python",
            "print(1)",
            "```",
            "",
            "```output",
            "0",
            "```",
            "<details>",
            "```python",
            "print(2)",
            "```",
            "</details>",
            "```text",
            "x",
            "```",
        ]
    )
    slow, solution = find_blocks(page)
    assert (slow.slow, slow.solution, slow.line, slow.end) == (True, False, 3, 5)
    assert (solution.slow, solution.solution) == (False, True)
    renewed = with_outputs(page, {5: "1\n", 13: "2\n"})
    assert "```output\n1\n```\n<details>" in renewed and "print(2)\n```\n</details>" in renewed


def test_a_mistake_in_a_page_names_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nfine = 1\nbroken\n```\n")
    with pytest.raises(NameError) as caught:
        run_chapter(page, slow=False)
    assert caught.traceback[-1].lineno == 4  # pytest counts from 0
