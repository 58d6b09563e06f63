"""Every command: its streams, and odd values of its flags as one line and exit code 2."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

TOY = """
import sys
from models.errors import one_line_errors
@one_line_errors
def main():
    with open(sys.argv[1], "w") as file:
        print("an answer \u2713")
        sys.stderr.write("remarks" if file.fileno() > 2 else "over the file")
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("streams", "code"), [("", 0), (">&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0), (">/dev/full", 2)]
)
def test_streams_that_are_closed_full_or_latin(streams, code, tmp_path):
    command = f"PYTHONIOENCODING=latin-1 '{sys.executable}' -c '{TOY}' '{tmp_path / 'file'}' {streams}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert (tmp_path / "file").read_text() == ""
    if not streams:
        assert (done.stdout, done.stderr) == ("an answer ?\n", "remarks")
