"""The demo of `make demo`: every sense once, through the same command line a user types.

Prints each command, then what μOmni answers. Ends with exit code 1 if a command fails.
Uses the network for nothing: the shipped weights and the files of this folder are all it needs.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("build/demo")

# (what is shown, arguments of infer_chat.py)
STEPS: list[tuple[str, list[str]]] = [
    ("It talks", ["--text", "Hello, how are you?"]),
    ("It looks", ["--image", "examples/sample_image.png", "--text", "What do you see?"]),
    ("It counts", ["--image", "examples/sample_image.png", "--text", "How many objects are there?"]),
    ("It listens", ["--audio_in", "examples/sample_audio.wav", "--text", "What did you hear?"]),
    (
        "It is asked aloud about a picture, and answers aloud",
        ["--audio_in", "examples/question.wav", "--image", "examples/sample_image.png",
         "--audio_out", str(OUT / "answer.wav")],
    ),
    ("It watches", ["--video", "examples/sample_video.mp4", "--text", "What happens?"]),
    ("It reads aloud", ["--say", "Hello world", "--audio_out", str(OUT / "hello.wav")]),
]


def run(title: str, arguments: list[str]) -> int:
    """Show one command and its output; returns its exit code."""
    print(f"\n{title}:\n$ python infer_chat.py {shlex.join(arguments)}", flush=True)
    started = time.monotonic()
    code = subprocess.run([sys.executable, "infer_chat.py", *arguments], cwd=ROOT).returncode
    print(f"({time.monotonic() - started:.1f} s)" if code == 0 else f"failed: exit code {code}")
    return code


def main() -> int:
    """All steps, even after one that failed."""
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    failed = [title for title, arguments in STEPS if run(title, arguments)]
    if failed:
        print(f"\n{len(failed)} of {len(STEPS)} failed: {'; '.join(failed)}", file=sys.stderr)
        return 1
    print(f"\nAll {len(STEPS)} worked. Listen to {OUT}/answer.wav and {OUT}/hello.wav;")
    print("go on with:  .venv/bin/python infer_chat.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
