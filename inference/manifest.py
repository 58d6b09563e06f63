"""Manifests: many requests from one YAML file, answers to JSONL; an interrupted run goes on.

    python -m inference.manifest examples/runs.yaml --out answers.jsonl

A line is written once its answer is whole, and never asked again. A run that fails is a line with
its error; the others go on, and the next call tries it again. Paths count from the manifest.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read by OpenMP when torch is imported
os.environ.setdefault("OMP_NUM_THREADS", "1")  # networks this small are quicker on one thread

import dataclasses
import hashlib
import json
import sys
import warnings
from itertools import islice
from pathlib import Path

import yaml

from inference.config import GenerateConfig
from inference.notice import show_notice
from inference.output import check_writable
from inference.source import check_file
from models.errors import Parser, UserError, in_one_line, one_line_errors, remark, tell
from models.fields import misfits, shown
from models.files import replacing

MEDIA = ("image", "audio", "video")
LOADING = ("ckpt_dir", "device", "dtype")
MOST = 100_000  # words and marks of a run as JSON
OPENING = b'{"key": '  # of each line of answers


@dataclasses.dataclass
class Request:
    """What a run may ask, besides the settings of GenerateConfig."""

    id: str | int | None = None  # names a run; with its target's name in front
    text: str | None = None
    system_prompt: str | None = None
    image: str | list[str] | None = None
    audio: str | list[str] | None = None
    video: str | list[str] | None = None


ASKED = {field.name for field in dataclasses.fields(Request)}


def read_manifest(path: Path) -> tuple[dict, list[dict]]:
    """What holds for all runs (`folder`, `device`, `dtype`), and each run with its defaults.

    Raises:
        UserError: not YAML, no runs, or a key that means nothing.
    """
    try:
        content = yaml.safe_load(path.read_bytes())  # UTF-8 or UTF-16, by its first bytes
    except (OSError, ValueError, yaml.YAMLError, RecursionError, AttributeError, TypeError) as error:
        raise UserError(f"cannot read {path}: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not isinstance(content.get("runs", content.get("targets")), list):
        raise UserError(f"{path} needs a list called runs, or targets with runs")
    targets = content.pop("targets", None) or []
    if not isinstance(targets, list):
        raise UserError(f"{path}: targets must be a list, not {shown(targets)}")
    content["runs"] = content.get("runs", []) + of_targets(targets, path)
    if unknown := sorted(map(str, content.keys() - {*LOADING, "defaults", "runs"})):
        raise UserError(f"{path}: unknown {', '.join(unknown)}")
    loading = {key: content[key] for key in LOADING if content.get(key) is not None}
    for key, value in loading.items():
        if not isinstance(value, str):
            raise UserError(f"{path}: {key} must be a text, not {shown(value)}")
    if "ckpt_dir" in loading:
        loading["folder"] = path.parent / os.path.expanduser(loading.pop("ckpt_dir"))
    defaults = flat(content.get("defaults") or {})
    if not isinstance(defaults, dict):
        raise UserError(f"{path}: defaults must be a set of keys and values, not {shown(defaults)}")
    runs = [flat(run) for run in content["runs"]]
    return loading, [defaults | run if isinstance(run, dict) else run for run in runs]


def of_targets(targets: list, path: Path) -> list:
    """The runs of experiments, each `{type, name, runs}`; a run's id gets the target's name in front."""
    found = []
    for target in targets:
        if not isinstance(target, dict) or not isinstance(target.get("runs"), list):
            raise UserError(f"{path}: a target needs a list called runs, not {shown(target)}")
        if unknown := sorted(map(str, target.keys() - {"type", "name", "runs"})):
            raise UserError(f"{path}: unknown in a target: {', '.join(unknown)}")
        for run in target["runs"]:
            both = target.get("name"), run.get("id") if isinstance(run, dict) else None
            names = [shown(x) if isinstance(x, int | list | dict) else str(x) for x in both if x is not None]
            found.append(run | {"id": "/".join(names)} if isinstance(run, dict) and names else run)
    return found


def flat(run):
    """A run with the block of its mode among its own keys; `prompt` is another name for `text`."""
    if not isinstance(run, dict):
        return run
    run = dict(run)
    mode = run.pop("mode", "generate")
    block = run.pop("generate", None) or {}
    if mode != "generate" or not isinstance(block, dict):
        return {"mode": mode, "generate": block} | run  # refused where runs are checked
    run = block | run
    return run | {"text": run.pop("prompt")} if "prompt" in run and "text" not in run else run


def checked(run) -> dict:
    """A run with its values in their fields' types.

    Raises:
        UserError: names every wrong field.
    """
    if not isinstance(run, dict):
        raise UserError(f"a run is a set of keys and values, not {shown(run)}")
    run = {str(key): value for key, value in run.items()}
    if "mode" in run:  # left by `flat`
        found = f"{shown(run['mode'])} with {shown(run['generate'])}"
        raise UserError(f"mode must be generate, with a set of settings below generate, not {found}")
    asked = {key: value for key, value in run.items() if key in ASKED}
    settings = {key: value for key, value in run.items() if key not in ASKED}
    request, wrong = misfits(Request, asked)
    settings, wrong_settings = misfits(GenerateConfig, settings, text=True)
    if wrong or wrong_settings:
        raise UserError("; ".join(wrong + wrong_settings))
    if not any(request.get(key) for key in ("text", *MEDIA)):
        raise UserError("nothing is asked: give text, an image, audio or video")
    GenerateConfig(**settings)
    return request | settings


def as_json(run):
    """A run with its keys as text; one that JSON cannot hold as text altogether, which is refused later."""
    if isinstance(run, dict):
        run = {str(key): value for key, value in run.items()}
    try:
        pieces = json.JSONEncoder(sort_keys=True, default=str).iterencode(run)
        if sum(1 for _ in islice(pieces, MOST)) == MOST:  # aliases of aliases
            return f"{MOST:,} words and more"
    except (TypeError, ValueError, RecursionError):  # dates as keys, or a run within itself
        return shown(run)
    return run


def run_key(run, nth: int) -> str:
    """Names a run by what it asks; `nth` tells equal ones apart."""
    text = json.dumps([run, nth], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def keyed(runs: list) -> list[tuple[str, dict]]:
    """Runs with their keys, in order."""
    named, count = [], {}
    for run in map(as_json, runs):
        plain = run_key(run, 0)
        named.append((run_key(run, count.get(plain, 0)), run))
        count[plain] = count.get(plain, 0) + 1
    return named


def finished(path: Path) -> set[str]:
    """Keys already answered; failed runs and a last line that was cut off are removed.

    Raises:
        UserError: the file holds anything else: it stays as it is.
    """
    if not path.exists():
        return set()
    try:
        content = path.read_bytes()
        *lines, cut_off = content.split(b"\n")
        if not cut_off.startswith(OPENING[: len(cut_off)]):
            raise ValueError("its last line is another")
        lines = [line + b"\n" for line in lines]
        read = [json.loads(line) for line in lines]
        named = [(line["key"], "error" in line) for line in read]
        keys = {key for key, failed in named if not failed}
        whole = b"".join(line for line, (_, failed) in zip(lines, named, strict=True) if not failed)
        if whole != content:
            with replacing(path) as temporary:
                temporary.write_bytes(whole)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} holds no answers of a manifest: {error}") from None
    return keys


def answer(omni, run: dict, folder: Path) -> str:
    """The answer to one run; its media paths count from `folder`."""
    request = {key: value for key, value in run.items() if key != "id"}
    for kind in MEDIA:
        if request.get(kind):
            paths = request[kind] if isinstance(request[kind], list) else [request[kind]]
            request[kind] = [str(folder / os.path.expanduser(path)) for path in paths]
    return omni.chat(request.pop("text", None), **request)


def run_manifest(path: Path, out: Path) -> int:
    """Answer what is not yet answered; returns the exit code, see `main`."""
    loading, runs = read_manifest(path)
    done = finished(check_writable(out))
    waiting = [(key, run) for key, run in keyed(runs) if key not in done]
    wrong = {key: error for key, run in waiting if (error := fault(run))}
    for key, error in wrong.items():
        number = [name for name, _ in keyed(runs)].index(key) + 1
        remark(f"error: {path}, run {number}: {error}")
    if wrong and len(wrong) == len(waiting):
        return 2
    failed = answer_all(loading, waiting, wrong, path, out) if waiting else 0
    count = len(waiting) - failed
    remark(f"{count} answered{f', {failed} failed' if failed else ''}, in {out}")
    return 1 if failed else 0


def answer_all(loading: dict, waiting: list, wrong: dict[str, str], path: Path, out: Path) -> int:
    """Answer runs one after another, each into its line; returns how many failed."""
    from inference.omni import Omni

    omni = Omni.from_pretrained(**loading)
    failed = 0
    try:
        with out.open("a", encoding="utf-8", errors="replace") as file:
            for key, run in waiting:
                result = {"error": wrong[key]} if key in wrong else attempt(omni, run, path)
                failed += "error" in result
                line = {"key": key, "run": run, **result}
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
                file.flush()
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from None
    return failed


def fault(run) -> str:
    """What is wrong with a run before anything is loaded; "" if nothing."""
    try:
        checked(run)
    except UserError as error:
        return str(error)
    return ""


def attempt(omni, run: dict, path: Path) -> dict:
    """The answer to a run, or the error that it ends with, which is also shown."""
    try:
        return {"answer": answer(omni, checked(run), path.parent)}
    except Exception as error:  # memory or a file that was lacking for it need not lack for the next
        told = in_one_line(error)
        if told is None:
            raise
        tell(told)
        return {"error": str(told)}


@one_line_errors
def main(argv: list[str] | None = None) -> int:
    """Run; returns the exit code: 1 when runs failed, 2 when none could begin."""
    parser = Parser("python -m inference.manifest", description=__doc__)
    parser.add_argument("manifest", type=Path, help="YAML file of runs")
    parser.add_argument("--out", type=Path, help="default: the manifest's name with .jsonl")
    args = parser.parse_args(argv)
    check_file(args.manifest, "manifest")
    out = args.out or args.manifest.with_suffix(".jsonl")
    warnings.showwarning = show_notice
    return run_manifest(args.manifest, out)


if __name__ == "__main__":
    sys.exit(main())
