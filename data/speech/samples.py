"""The small shipped sample of speech: utterances with alignments, so that no test needs an engine.

`samples/speech/` is a shard folder whose blobs are Ogg Opus files; `samples/lexicon.jsonl` holds the
phones of its words. `write_samples` of data/speech/tts_corpus.py makes it, from flite.
"""

import io
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile

from data.shards import ShardReader

FOLDER = Path(__file__).parents[1] / "samples"
LEXICON = FOLDER / "lexicon.jsonl"
RATE = 16000  # Hz
MAX_SECONDS = 2.4  # of one sample: the lot stays under 900 KB
SPLITS = (("train", 64), ("dev", 8), ("test", 8))


def encode(wave: np.ndarray) -> bytes:
    """int16 (samples,) -> an Ogg Opus file."""
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, RATE, format="OGG", subtype="OPUS")
    return buffer.getvalue()


def decode(data: bytes) -> np.ndarray:
    """An Ogg Opus file -> int16 (samples,)."""
    return soundfile.read(io.BytesIO(data), dtype="int16")[0]


@lru_cache(maxsize=4)
def samples(split: str | None = None) -> list[dict]:
    """Records as data/speech/tts_corpus.py makes them, with "wave" int16 (samples,); None: all splits."""
    reader = ShardReader(FOLDER / "speech")
    records = []
    for i in range(len(reader)):
        record = reader[i]
        if split in (None, record.pop("split")):
            record["wave"] = decode(record.pop("opus"))
            records.append(record)
    return records
