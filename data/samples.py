"""The small shipped sample of speech: utterances with alignments, so that no test needs an engine.

`samples/speech/` is a shard folder whose blobs are FLAC files; `samples/lexicon.jsonl` holds the
phones of its words. Made by `write_samples`, from flite, and read by everybody else.
"""

import io
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile

from data.shards import ShardReader, ShardWriter

FOLDER = Path(__file__).parent / "samples"


def flac(wave: np.ndarray, rate: int = 16000) -> bytes:
    """int16 (samples,) -> a FLAC file, without loss."""
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, rate, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def unflac(data: bytes) -> np.ndarray:
    """A FLAC (or Ogg) file -> int16 (samples,)."""
    return soundfile.read(io.BytesIO(data), dtype="int16")[0]


@lru_cache(maxsize=4)
def samples(split: str | None = None) -> list[dict]:
    """Records as data/speaking.py makes them, with "wave" int16 (samples,)."""
    reader = ShardReader(FOLDER / "speech")
    records = []
    for i in range(len(reader)):
        record = reader[i]
        record["wave"] = unflac(record.pop("flac"))
        if split in (None, record.pop("split")):
            records.append(record)
    return records


def write_samples(folder: Path, records: list[tuple[dict, np.ndarray]]) -> None:
    """Pack (record with "split", wave) pairs into one shard of FLAC blobs."""
    with ShardWriter(folder, 0) as writer:
        for record, wave in records:
            writer.add(record, {"flac": flac(wave)})
