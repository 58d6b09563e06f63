"""Damaged media files and checkpoints: each is read, or refused in one line, within 5 s.

Tests draw a few; all 2,500, with times: `python -m tests.inference.test_real_inputs SEED`.
"""

import io
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from inference import Omni
from inference.media import Limits, load_audio, load_image, load_video
from inference.speech import Speaker
from models.errors import UserError
from tests.conftest import ROOT, make_nano_omni
from tests.inference.containers import CONTAINERS, encode

CASES = ROOT / "tests" / "fixtures" / "cases"
SLOW = 5.0  # s on an idle machine
PICTURES = ("PNG", "JPEG", "WEBP", "BMP", "PPM", "ICO", "TIFF", "GIF", "TGA", "JPEG2000")
LOADERS = {"image": load_image, "audio": load_audio, "video": load_video}
WRONG = [None, -1, 0, 2.5, 1e9, "x", [], {}, 10**30, True, float("nan")]


def media_files(folder: Path) -> list[tuple[str, str, bytes]]:
    """(kind, name, content) of many formats, small."""
    files = []
    square = Image.new("RGB", (48, 48), "white")
    square.paste("red", (12, 12, 36, 36))
    for name in PICTURES:
        buffer = io.BytesIO()
        square.save(buffer, name)
        files.append(("image", name, buffer.getvalue()))
    files.append(("image", "HEIC", (CASES / "ok.heic").read_bytes()))
    for name, codec, rate in CONTAINERS:
        encode(folder / name, codec, rate)
        files.append(("audio", name, (folder / name).read_bytes()))
    for name in ("talk.mp4", "still.mp4"):
        files.append(("video", name, (CASES / name).read_bytes()))
    return files


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, or with bytes changed, removed or repeated."""
    kind, data = rng.randrange(4), bytearray(content)
    place = rng.randrange(len(data))
    if kind == 0:
        return bytes(data[: max(place, 1)])
    if kind == 1:
        for _ in range(rng.choice((1, 8, 64))):
            data[rng.randrange(min(len(data), rng.choice((64, 10**9))))] = rng.randrange(256)
    elif kind == 2:
        del data[place : place + rng.choice((1, 16, 512))]
    else:
        data[place:place] = data[place : place + 64]
    return bytes(data) or b"\0"


def misconfigured(content: bytes, rng: random.Random) -> bytes:
    """JSON with one value replaced."""
    values = json.loads(content)
    *way, last = rng.choice(list(leaves(values)))
    node = values
    for key in way:
        node = node[key]
    node[last] = rng.choice(WRONG)
    return json.dumps(values).encode()


def leaves(node, path=()):
    """Where each value of nested dictionaries stands."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def survived(do: Callable[[], object]) -> tuple[float, str]:
    """Seconds of computing that it took, and its traceback where it raised anything but one line."""
    began, trace = time.process_time(), ""
    try:
        do()
    except UserError as error:
        assert "\n" not in str(error)
    except Exception:  # noqa: BLE001 (what this looks for)
        trace = traceback.format_exc()
    return time.process_time() - began, trace


def media_cases(seed: int, count: int, folder: Path):
    """(name, what to do) of damaged media files."""
    rng = random.Random(f"media-{seed}")
    files = media_files(folder)
    for number in range(count):
        kind, name, content = files[number % len(files)]
        content = damaged(content, rng)
        yield f"{name} {number}", lambda: LOADERS[kind](content, Limits())  # noqa: B023 (run at once)


def checkpoint_cases(seed: int, count: int, nano: Path, place: Path):
    """(name, what to do) of checkpoint folders with one damaged file."""
    rng = random.Random(f"checkpoints-{seed}")
    copy = place / "checkpoint"
    shutil.copytree(nano, copy)
    names = sorted(path.name for path in copy.iterdir() if path.is_file())
    for number in range(count):
        file = copy / names[number % len(names)]
        whole = file.read_bytes()
        wrong = file.suffix == ".json" and rng.random() < 0.8
        file.write_bytes(misconfigured(whole, rng) if wrong else damaged(whole, rng))
        yield f"{file.name} {number}", lambda: use(copy)
        file.write_bytes(whole)


def use(folder: Path) -> None:
    """Load all of a checkpoint and answer with it."""
    omni = Omni.from_pretrained(folder)
    omni.chat("Hello", max_new_tokens=4)
    omni.chat("What?", image=Image.new("RGB", (32, 32)), max_new_tokens=4, num_beams=1)
    Speaker.from_pretrained(folder)


def survive(cases, slowest: float = float("inf")) -> list[tuple[float, str]]:
    """All cases (name, what to do); returns their times, the longest first.

    Raises:
        AssertionError: one raised something else than one line, or took too long.
    """
    times, wrong = [], []
    for name, do in cases:
        seconds, trace = survived(do)
        times.append((seconds, name))
        if trace or seconds > slowest:
            wrong.append(f"{name}: {seconds:.1f} s {trace}")
            print(wrong[-1], file=sys.stderr, flush=True)
    assert not wrong, f"{len(wrong)} cases: " + "\n".join(wrong[:3])
    return sorted(times, reverse=True)


def run_all(seed: int) -> None:
    """2,000 media files and 500 checkpoints, with times."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        nano = make_nano_omni(folder / "nano")
        use(nano)  # compiles the decode step where it has not been
        for what, cases in (
            ("2,000 damaged media files", media_cases(seed, 2000, folder)),
            ("500 damaged checkpoints", checkpoint_cases(seed, 500, nano, folder)),
        ):
            times = survive(cases, SLOW)
            shown = ", ".join(f"{seconds:.2f} s {name}" for seconds, name in times[:3])
            print(f"{what}, seed {seed}: read or refused in one line; slowest {shown}", flush=True)
