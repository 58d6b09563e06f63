"""Manifests: many requests from one YAML file, answers to JSONL; an interrupted run goes on.

    python -m inference.manifest examples/runs.yaml --out answers.jsonl

A line is written once its answer is whole, and never asked again. Paths count from the manifest.
"""

import argparse
import dataclasses
import hashlib
import json
import sys
import warnings
from pathlib import Path

import yaml

from inference.config import GenerateConfig
from inference.notice import show_notice
from inference.omni import Omni
from models.errors import UserError, one_line_errors

MEDIA = ("image", "audio", "video")
REQUEST = {"text", "system_prompt", *MEDIA}
SETTINGS = {field.name for field in dataclasses.fields(GenerateConfig)}


def read_manifest(path: Path) -> tuple[dict, list[dict]]:
    """What holds for all runs (`ckpt_dir`, `device`, `dtype`), and each run with its defaults.

    Raises:
        UserError: not YAML, or a key that means nothing.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"cannot read {path}: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not isinstance(content.get("runs"), list):
        raise UserError(f"{path} needs a list called runs")
    refuse_unknown(content, {"ckpt_dir", "device", "dtype", "defaults", "runs"}, path)
    loading = {key: content[key] for key in ("device", "dtype") if key in content}
    if "ckpt_dir" in content:
        loading["folder"] = path.parent / content["ckpt_dir"]
    runs = []
    for number, run in enumerate(content["runs"], 1):
        if not isinstance(run, dict):
            raise UserError(f"{path}, run {number}: not a set of keys and values")
        run = (content.get("defaults") or {}) | run
        refuse_unknown(run, REQUEST | SETTINGS, f"{path}, run {number}")
        runs.append(run)
    return loading, runs


def refuse_unknown(values: dict, known: set[str], where: str | Path) -> None:
    if unknown := sorted(map(str, values.keys() - known)):
        raise UserError(f"{where}: unknown {', '.join(unknown)}")


def run_key(run: dict, nth: int) -> str:
    """Names a run by what it asks; `nth` tells equal ones apart."""
    text = json.dumps([run, nth], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def keyed(runs: list[dict]) -> list[tuple[str, dict]]:
    """Runs with their keys, in order."""
    named, count = [], {}
    for run in runs:
        plain = run_key(run, 0)
        named.append((run_key(run, count.get(plain, 0)), run))
        count[plain] = count.get(plain, 0) + 1
    return named


def finished(path: Path) -> set[str]:
    """Keys already answered; a last line that was cut off is removed."""
    if not path.exists():
        return set()
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        keys = {json.loads(line)["key"] for line in whole.splitlines()}
        if whole != content:
            path.write_bytes(whole)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} holds no answers of a manifest: {error}") from None
    return keys


def answer(omni: Omni, run: dict, folder: Path) -> str:
    """The answer to one run; its media paths count from `folder`."""
    request = dict(run)
    for kind in MEDIA:
        if request.get(kind):
            paths = request[kind] if isinstance(request[kind], list) else [request[kind]]
            request[kind] = [str(folder / path) for path in paths]
    return omni.chat(request.pop("text", None), **request)


def run_manifest(path: Path, out: Path) -> int:
    """Answer what is not yet answered; returns how many were."""
    loading, runs = read_manifest(path)
    done = finished(out)
    waiting = [(key, run) for key, run in keyed(runs) if key not in done]
    if not waiting:
        return 0
    omni = Omni.from_pretrained(**loading)
    try:
        with out.open("a", encoding="utf-8") as file:
            for key, run in waiting:
                line = {"key": key, "run": run, "answer": answer(omni, run, path.parent)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from None
    return len(waiting)


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code."""
    parser = argparse.ArgumentParser("python -m inference.manifest", description=__doc__)
    parser.add_argument("manifest", type=Path, help="YAML file of runs")
    parser.add_argument("--out", type=Path, help="default: the manifest's name with .jsonl")
    args = parser.parse_args(argv)
    out = args.out or args.manifest.with_suffix(".jsonl")
    warnings.showwarning = show_notice
    count = run_manifest(args.manifest, out)
    print(f"{count} answered, in {out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
