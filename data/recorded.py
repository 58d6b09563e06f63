"""Shards for hearing from recorded speech: the same records as data/hearing.py, real voices.

Recordings are not disturbed: they bring their own rooms. Training speakers are never in dev or
test. What is longer than data/hearing.py allows is left out.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from data.augment import set_peak
from data.hearing import MAX_SECONDS, mel_of
from data.readers.speech import RATE, READERS, Recording, manifest
from data.shards import ShardWriter
from models.errors import UserError

MANIFEST_SETS = ("speechocean762", "fsdd", "speech_commands_3words")
PEAK = 0.7  # of full scale


def _read(folder: Path, layout: str, split: str) -> Iterator[Recording]:
    if layout != "all":
        if layout not in READERS:
            raise UserError(f"unknown layout {layout!r}; choose all, {', '.join(READERS)}")
        yield from READERS[layout](folder, split)
        return
    present = [name for name in MANIFEST_SETS if (folder / name).is_dir()]
    for name in set(MANIFEST_SETS) - set(present):
        print(f"notice: {folder / name} is missing and left out", file=sys.stderr)
    for name in present:
        yield from manifest(folder / name, split)


def recordings(folder: Path, layout: str, split: str) -> Iterator[Recording]:
    """Utterances of a split in the order of the shards; see `build_real_hearing`."""
    for recording in _read(folder, layout, split):
        if 0.1 <= len(recording.wave) / RATE <= MAX_SECONDS:
            yield recording


def kind_of(recording: Recording) -> str:
    """As data/hearing.py calls what is said."""
    if recording.corpus == "fsdd":
        return "digits"
    return "word" if len(recording.text.split()) == 1 else "sentence"


def build_real_hearing(
    folder: str | Path, source: str | Path, split: str = "train", *, layout: str = "all",
    limit: int | None = None, shard_size: int = 1000,
) -> int:
    """Fill `folder` from the recordings under `source`; returns how many utterances it holds.

    Args:
        layout: "all" for the manifest's sets together, or one name of data/readers/speech.READERS.
    """
    folder = Path(folder)
    if sorted(folder.glob("shard-*.jsonl")):
        raise UserError(f"{folder} already holds shards: remove it to build it again")
    partial = folder.with_name(folder.name + ".partial")  # what is cut off is not taken for a whole
    shutil.rmtree(partial, ignore_errors=True)
    batch: list = []
    count = number = 0

    def flush() -> None:
        nonlocal number
        if batch:
            with ShardWriter(partial, number) as writer:
                for record, blobs in batch:
                    writer.add(record, blobs)
            number += 1
            batch.clear()

    for recording in recordings(Path(source), layout, split):
        seconds = len(recording.wave) / RATE
        record = {"text": recording.text, "voice": recording.speaker, "corpus": recording.corpus,
                  "kind": kind_of(recording), "seconds": round(seconds, 3), "noise_db": None}
        batch.append((record, {"mel": mel_of(set_peak(recording.wave, PEAK))}))
        count += 1
        if len(batch) == shard_size:
            flush()
        if count == limit:
            break
    flush()
    if not count:
        raise UserError(f"no {split} recordings under {source}")
    partial.replace(folder)
    return count
