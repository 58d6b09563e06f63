"""How long the code is: `python -m manual size` counts lines by package, and those of the reading path.

The reading path is what a learner reads to know how an answer comes about; options lie beside it.
Lines are lines of files, empty ones and docstrings included.
"""

from __future__ import annotations

from pathlib import Path

from manual.chapters import ROOT

READING_PATH = {
    "models": "block cache thinker tokenizer vision audio mel projector omni codec talker frontend "
              "vocoder ctc ngram_lm",
    "inference": "config sampling generation omni session media speech",
}
PACKAGES = ("models", "inference", "training", "data", "evaluation", "export", "serving", "benchmarks",
            "manual", "examples", "tests")


def lines(paths: list[Path]) -> int:
    """Lines of all files together."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def reading_path() -> list[Path]:
    """The files that a learner reads."""
    return [
        ROOT / package / f"{name}.py"
        for package, names in READING_PATH.items()
        for name in names.split()
    ]


def sizes() -> dict[str, tuple[int, int]]:
    """(files, lines) of each package, of the commands beside them, and of all but the tests."""
    groups = {name: sorted((ROOT / name).rglob("*.py")) for name in PACKAGES}
    groups["commands"] = sorted(ROOT.glob("*.py"))
    groups["all but tests"] = [path for name, paths in groups.items() if name != "tests" for path in paths]
    groups["reading path"] = reading_path()
    return {name: (len(paths), lines(paths)) for name, paths in groups.items()}


def table() -> str:
    """One line each, the largest package first."""
    rows = sorted(sizes().items(), key=lambda row: -row[1][1])
    return "\n".join(f"{name:14} {files:4} files {count:7,} lines" for name, (files, count) in rows)
