"""What is generated from source is up to date, and notebooks run."""

import re

import pytest
import yaml

from manual import notebooks, reference
from manual.chapters import ROOT, find_blocks, workbench
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


def test_every_command_and_every_flag_is_explained():
    packages = ("inference", "training", "data", "evaluation", "models", "export", "benchmarks")
    folders = [ROOT, *(ROOT / name for name in packages)]
    files = [*ROOT.glob("*.py"), *(path for folder in folders[1:] for path in folder.rglob("*.py"))]
    commands = {path for path in files if "ArgumentParser(" in path.read_text(encoding="utf-8")}
    assert commands == {ROOT / name for name in reference.COMMANDS}
    rows = re.findall(r"^\| `.*\|$", reference.flags(), re.MULTILINE)
    assert len(rows) > 60
    assert not [row for row in rows if row.endswith("|  |")], "a flag without a meaning"


def test_every_config_field_is_in_the_reference():
    text = reference.configs()
    for name in ("models", "inference", "training", "data", "evaluation"):
        for path in (ROOT / name).rglob("*.py"):
            for found in re.findall(r"^class (\w+(?:Config|Options))\b", path.read_text("utf-8"), re.M):
                assert f"\n## {found}\n" in text, f"{path.name}: {found}"
    for preset in reference.PRESETS:
        for stage, sections in yaml.safe_load((ROOT / f"configs/{preset}.yaml").read_text()).items():
            for key in (sections or {}).get("data") or {}:
                assert f"| {stage} | `{key}` |" in text


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
    for exhibit in exhibits:
        code = "\n".join(block.code for block in find_blocks(exhibit))
        assert "assert " in code, f"nothing is reproduced: {exhibit[:40]}"
    tests = [symbol for path, symbol in code_links(page) if "tests" in path.parts]
    assert len(tests) >= len(exhibits) and all(name.startswith("test_") for name in tests)
    shown = re.findall(r"\[`(test_\w+)`\]", page.read_text(encoding="utf-8"))
    assert shown == tests, "a link names another test than it leads to"
    assert not broken(page), "a test that is named does not exist"


def test_a_notebook_runs(tmp_path):
    with workbench(tmp_path):
        notebooks.execute(notebooks.FOLDER / "12-codec-listening.ipynb", tmp_path, skip_slow=True)
