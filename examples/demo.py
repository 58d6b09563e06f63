"""The demo of `make demo`: every sense once, through the command line that a user types.

Prints each command, what μOmni answers, and whether that is true: the files of this folder are drawn
and spoken from known facts. Exit code 1 if a command fails or an answer is wrong. It needs the shipped
weights and no network. `--readme` also writes the picture's part of it into README.md, so that what
the README shows was really said. Clips are left out until weights that can watch are shipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("build/demo")
IMAGE = ["--image", "examples/sample_image.png"]
SCENE = "dog yellow star red circle"  # what it shows

# (what is shown, arguments of infer_chat.py, words of a right answer in order, whether in the README)
STEPS: list[tuple[str, list[str], str, bool]] = [
    ("It talks", ["--text", "Hello, how are you?"], "", False),
    ("It looks", [*IMAGE, "--text", "What do you see?"], SCENE, True),
    ("It counts", [*IMAGE, "--text", "How many objects are there?"], "three", True),
    (
        "It transcribes", ["--audio_in", "examples/sample_audio.wav", "--text", "What did you hear?"],
        "my brother has a red car and two dogs", True,
    ),
    (
        "It is asked aloud about a picture, and answers aloud",
        ["--audio_in", "examples/question.wav", *IMAGE, "--audio_out", str(OUT / "answer.wav")],
        SCENE, False,
    ),
    ("It reads aloud", ["--say", "Hello world", "--audio_out", str(OUT / "hello.wav")], "", False),
    (
        "It understands what it read", ["--audio_in", str(OUT / "hello.wav"), "--text", "What did you hear?"],
        "hello world", False,
    ),
]
BLOCK = re.compile(r"(<!-- demo: .*? -->\n).*?(<!-- /demo -->)", re.DOTALL)


def run(title: str, arguments: list[str]) -> str | None:
    """Show one command and its output; returns the answer, None when the command failed."""
    print(f"\n{title}:\n$ python infer_chat.py {shlex.join(arguments)}", flush=True)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "infer_chat.py", *arguments], cwd=ROOT, stdout=subprocess.PIPE,
        encoding="utf-8", env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    print(done.stdout, end="")
    seconds = time.monotonic() - started
    print(f"({seconds:.1f} s)" if done.returncode == 0 else f"failed: exit code {done.returncode}")
    return done.stdout.strip() if done.returncode == 0 else None


def right(answer: str, truth: str) -> bool:
    """Whether an answer holds these words in this order."""
    words = iter(re.findall(r"[a-z']+", answer.lower()))
    return all(word in words for word in truth.split())


def write_readme(said: list[tuple[list[str], str]]) -> None:
    """Put commands and answers between the README's demo marks."""
    path = ROOT / "README.md"
    lines = []
    for arguments, answer in said:
        command = shlex.join(arguments).replace("'", '"')  # as a person would quote it
        lines.append(f"$ python infer_chat.py {command}\n{answer}")
    shown = "```\n" + "\n".join(lines) + "\n```\n"
    text, count = BLOCK.subn(lambda m: m[1] + shown + m[2], path.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"error: {path} has {count} demo blocks, not one")
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def main() -> int:
    """All steps, even after one that failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--readme", action="store_true", help="write the answers into README.md")
    readme = parser.parse_args().readme
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    failed, shown = [], []
    for title, arguments, truth, show in STEPS:
        answer = run(title, arguments)
        if answer is None:
            failed.append(title)
            continue
        if truth:
            print("right" if right(answer, truth) else f"WRONG: it is “{truth}”")
        if not right(answer, truth):
            failed.append(title)
        if show:
            shown.append((arguments, answer))
    if failed:
        print(f"\n{len(failed)} of {len(STEPS)} failed: {'; '.join(failed)}", file=sys.stderr)
        return 1
    if readme:
        write_readme(shown)
    print(f"\nAll {len(STEPS)} worked. Listen to {OUT}/answer.wav and {OUT}/hello.wav; go on with")
    print("  .venv/bin/python infer_chat.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
