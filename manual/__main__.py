"""Make the manual: `python -m manual run` runs every block and renews figures and outputs.

Commands: run [CHAPTER ...], reference, notebooks. `make docs` does all, `make site` builds the site.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from manual.chapters import FIGURES, ROOT, chapters, run_chapter, with_outputs, workbench


def run(names: list[str]) -> int:
    """Run chapters whole; figures and printed outputs go back into docs/. Returns how many failed."""
    failed = 0
    for path in chapters():
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, workbench(Path(folder)) as bench:
            try:
                printed = run_chapter(path, slow=True)
            except Exception:  # whatever a page's code does wrong: say it, go on with the others
                traceback.print_exc(limit=-2)
                failed += 1
                continue
            for figure in (bench / FIGURES).iterdir():
                shutil.copyfile(figure, ROOT / FIGURES / figure.name)
        text = path.read_text(encoding="utf-8")
        path.write_text(with_outputs(text, printed), encoding="utf-8")
        print(f"{path.stem}: {time.monotonic() - start:.1f} s", flush=True)
    return failed


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser("python -m manual", description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("run",))
    parser.add_argument("names", nargs="*", help="chapters, by the start of their file name")
    args = parser.parse_args()
    return 1 if run(args.names) else 0


if __name__ == "__main__":
    sys.exit(main())
