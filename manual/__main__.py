"""Make the manual: `python -m manual run` runs every block and renews figures and printed outputs.

`reference` and `notebooks` write what is generated from source (`--execute` runs the notebooks too).
`look` builds the site and looks at every page in headless Chromium, where there is one. `size` counts
lines of code. `listen` speaks the page of players (requirements-judges.txt, --real_dir).
`make docs` does all of it, `make site` only builds the site.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from manual import look, notebooks, reference, size
from manual.chapters import FIGURES, ROOT, chapters, run_chapter, with_outputs, workbench
from models.errors import Parser


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


def write(pages: dict[Path, str]) -> None:
    """Write generated files."""
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


def main() -> int:
    """Returns the exit status."""
    parser = Parser("python -m manual", description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("run", "reference", "notebooks", "look", "size", "listen"))
    parser.add_argument("names", nargs="*", help="with run and look: only these chapters, or pages")
    parser.add_argument("--real_dir", type=Path, default=ROOT.parent / "shared" / "data", help="with listen")
    parser.add_argument("--execute", action="store_true", help="with notebooks: run them as well")
    args = parser.parse_args()
    if args.command == "run":
        return 1 if run(args.names) else 0
    if args.command == "look":
        return look.main(args.names)
    if args.command == "size":
        print(size.table())
        return 0
    if args.command == "listen":
        from manual import listen  # judges are an option

        (ROOT / "docs" / "listen.md").write_text(listen.page(ROOT, args.real_dir), encoding="utf-8")
        return 0
    write((reference if args.command == "reference" else notebooks).contents())
    if args.execute:
        for path in notebooks.contents():
            with tempfile.TemporaryDirectory() as folder, workbench(Path(folder)) as bench:
                notebooks.execute(path, bench, skip_slow=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
