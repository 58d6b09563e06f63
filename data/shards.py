"""Shards on disk: records with binary blobs, written in parallel, read at random.

A shard is a pair of files: `shard-00000.bin`, the blobs end to end, and `shard-00000.jsonl`, one
record a line with where its blobs lie. A shard appears whole or not at all, so an interrupted
build goes on where it stopped and a reader may start while the rest is still being written.
"""

import bisect
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from data.progress import progress
from models.errors import UserError
from models.files import replacing

Blobs = dict[str, bytes | np.ndarray]
Make = Callable[[int], tuple[dict, Blobs]]
MADE = "made.json"  # beside shards: what made them, with its settings
PLACES = {"folder", "text_folder", "statements"}  # settings that name a folder: elsewhere another day


class ShardWriter:
    """Writes one shard; use as a context manager. An exception leaves nothing behind."""

    def __init__(self, folder: Path, number: int):
        folder.mkdir(parents=True, exist_ok=True)
        self.stem = folder / f"shard-{number:05d}"
        self.offset = 0
        self.lines: list[str] = []

    def __enter__(self) -> "ShardWriter":
        self.temporary = self.stem.with_suffix(f".bin.{os.getpid()}.tmp")
        self.file = self.temporary.open("wb")
        return self

    def add(self, record: dict, blobs: Blobs) -> None:
        """Append one record; its blobs are bytes or arrays."""
        places = {}
        for name, blob in blobs.items():
            if isinstance(blob, np.ndarray):
                data = np.ascontiguousarray(blob).tobytes()
                places[name] = [self.offset, len(data), blob.dtype.str, list(blob.shape)]
            else:
                data = blob
                places[name] = [self.offset, len(data)]
            self.file.write(data)
            self.offset += len(data)
        self.lines.append(json.dumps({"record": record, "blobs": places}, ensure_ascii=False))

    def __exit__(self, kind, error, trace) -> None:
        self.file.close()
        if kind is not None:
            self.temporary.unlink(missing_ok=True)
            return
        os.replace(self.temporary, self.stem.with_suffix(".bin"))
        index = self.stem.with_suffix(f".jsonl.{os.getpid()}.tmp")
        index.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        os.replace(index, self.stem.with_suffix(".jsonl"))  # the index last: it marks completeness


class ShardReader:
    """Random access to all finished shards of a folder."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.records: list[tuple[int, dict]] = []
        self.bins: list[np.ndarray] = []
        self.starts: list[int] = []
        for index in sorted(self.folder.glob("shard-*.jsonl")):
            self.starts.append(len(self.records))
            binary = index.with_suffix(".bin")
            size = binary.stat().st_size
            self.bins.append(np.memmap(binary, np.uint8, "r") if size else np.zeros(0, np.uint8))
            with index.open(encoding="utf-8") as file:
                self.records += [json.loads(line) for line in file]
        if not self.records:
            raise UserError(f"no data in {self.folder}: run the stage that makes it first")

    def __len__(self) -> int:
        return len(self.records)

    def record(self, i: int) -> dict:
        """The record without its blobs."""
        return self.records[i]["record"]

    def __getitem__(self, i: int) -> dict:
        """Record i with its blobs: bytes, or read-only array views of the file."""
        if not 0 <= i < len(self.records):
            raise IndexError(i)
        binary = self.bins[bisect.bisect_right(self.starts, i) - 1]
        out = dict(self.records[i]["record"])
        for name, place in self.records[i]["blobs"].items():
            raw = binary[place[0] : place[0] + place[1]]
            if len(place) == 2:
                out[name] = raw.tobytes()
            else:
                out[name] = np.frombuffer(raw, np.dtype(place[2])).reshape(place[3])
        return out


def write_shard(number: int, folder: Path, make: Make, count: int, shard_size: int) -> int:
    """Make and write the records of one shard; returns how many."""
    indices = range(number * shard_size, min(count, (number + 1) * shard_size))
    with ShardWriter(folder, number) as writer:
        for index in indices:
            writer.add(*make(index))
    return len(indices)


def lines(path: Path) -> int:
    """Lines of a file, 0 without one."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def store(folder: Path, items: Iterable[tuple[dict, Blobs]], shard_size: int) -> int:
    """Fill a new folder with records as they come; returns how many.

    The folder appears whole: what is cut off lies beside it and is not taken for one. Without any
    record there is none.
    """
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    items, count = iter(items), 0
    while batch := list(islice(items, shard_size)):
        with ShardWriter(partial, count // shard_size) as writer:
            for record, blobs in batch:
                writer.add(record, blobs)
        count += len(batch)
    if count:
        partial.replace(folder)
    return count


def same_settings(folder: Path, before: dict, now: dict) -> None:
    """Refuse data that was made with other settings than are asked for.

    Raises:
        UserError: tells which, and what to do.
    """
    apart = [f"{k} {before.get(k)}, not {now.get(k)}" for k in now | before if before.get(k) != now.get(k)]
    if apart:
        raise UserError(f"{folder} was made with {'; '.join(apart)}: remove it, or name another --data_dir")


def note_maker(folder: Path, make: Make) -> None:
    """Write down what makes the records of a folder: a dataclass, with its settings.

    Raises:
        UserError: the folder holds records of another maker or other settings.
    """
    if not is_dataclass(make):
        return
    settings = {k: v is not None if k in PLACES else v for k, v in asdict(make).items()}
    now = json.loads(json.dumps({"maker": type(make).__name__} | settings))
    path = folder / MADE
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else now
    same_settings(folder, before, now)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as fresh:
        fresh.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


def generate(
    folder: str | Path,
    make: Make,
    count: int,
    shard_size: int = 1000,
    workers: int | None = None,
    desc: str = "data",
) -> None:
    """Fill a folder with `count` records, in parallel, keeping shards that hold enough already.

    Args:
        make: picklable, a pure function of the record's index, so that the result does not
            depend on the number of workers.
        workers: processes; None takes one per core. 1 stays in this process.

    Raises:
        UserError: the folder holds records made with other settings.
    """
    folder = Path(folder)
    note_maker(folder, make)
    shards = range((count + shard_size - 1) // shard_size)
    sizes = [min(shard_size, count - n * shard_size) for n in shards]
    todo = [n for n in shards if lines(folder / f"shard-{n:05d}.jsonl") < sizes[n]]
    if not todo:
        return
    job = partial(write_shard, folder=folder, make=make, count=count, shard_size=shard_size)
    workers = min(workers or os.cpu_count() or 1, len(todo))
    done = sum(sizes[n] for n in shards if n not in todo)
    with progress(total=count, initial=done, desc=desc, unit="item") as bar:
        if workers == 1:
            for number in todo:
                bar.update(job(number))
            return
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for made in pool.imap_unordered(job, todo):
                bar.update(made)
