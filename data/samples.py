"""The small shipped sample of speech: utterances with alignments, so that no test needs an engine.

`samples/speech/` is a shard folder whose blobs are Ogg Opus files; `samples/lexicon.jsonl` holds the
phones of its words. Made by `write_samples`, from flite, and read by everybody else.
"""

import io
import random
from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile

from data.shards import ShardReader, ShardWriter

FOLDER = Path(__file__).parent / "samples"
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
    """Records as data/speaking.py makes them, with "wave" int16 (samples,); None: all splits."""
    reader = ShardReader(FOLDER / "speech")
    records = []
    for i in range(len(reader)):
        record = reader[i]
        if split in (None, record.pop("split")):
            record["wave"] = decode(record.pop("opus"))
            records.append(record)
    return records


def write_samples(seed: int = 0) -> None:
    """Make the sample anew (needs flite): short public-domain sentences and answers."""
    from data.speaking import SpeakingMaker, build_lexicon  # it reads samples: not at import time

    words: list[str] = []
    seen: set[str] = set()
    with ShardWriter(FOLDER / "speech", 0) as writer:
        for split, count in SPLITS:
            make = SpeakingMaker(seed, split)
            index = 0
            while count:
                record, blobs = make(index)
                index += 1
                if record["text"] in seen or len(blobs["wave"]) > MAX_SECONDS * RATE:
                    continue
                seen.add(record["text"])
                writer.add(record | {"split": split}, {"opus": encode(blobs["wave"])})
                words += record["words"]
                count -= 1
    chosen = sorted(set(words))
    random.Random(seed).shuffle(chosen)
    build_lexicon(LEXICON, chosen)
