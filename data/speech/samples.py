"""The small shipped samples of speech: utterances with alignments, so that no test needs an engine.

`samples/speech/` is a shard folder whose blobs are Ogg Opus files, `samples/words/` another
(data/speech/word_samples.py); `samples/lexicon.jsonl` holds the
phones of its words. `python -m data.speech.samples DATA_DIR REAL_DIR` makes it anew, from the
natural teachers' speech that the stage `talker` has made there.
"""

import io
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np
import soundfile

from data.shards import ShardReader, ShardWriter
from data.speech import sentences
from data.speech.pronunciations import build_lexicon
from models.errors import one_line_errors

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


@lru_cache(maxsize=8)
def samples(split: str | None = None, name: str = "speech") -> list[dict]:
    """Records as data/speech/teachers.py makes them, with "wave" int16 (samples,); None: all splits.

    Args:
        name: "speech", short sentences; or "words".
    """
    reader = ShardReader(FOLDER / name)
    records = []
    for i in range(len(reader)):
        record = reader[i]
        if split in (None, record.pop("split")):
            record["wave"] = decode(record.pop("opus"))
            records.append(record)
    return records


def short_ones(data: Path, split: str, real: str) -> Iterator[dict]:
    """Short utterances of the shipped voices in turn, none of whose texts is borrowed."""
    borrowed = set(sentences.ordinary(split, real)) - set(sentences.ordinary(split, None))
    by_voice: dict[str, dict[str, dict]] = {}  # voice: text: utterance
    for reader in (ShardReader(data / f"{name}_{split}") for name in ("heart", "kokoro")):
        for i in range(len(reader)):
            text, seconds = reader.record(i)["text"], reader.record(i)["phones"][-1][2]
            if seconds <= MAX_SECONDS and text not in borrowed:
                by_voice.setdefault(reader.record(i)["voice"], {})[text] = reader[i]
    for together in zip_longest(*(texts.values() for texts in by_voice.values())):
        yield from filter(None, together)


def write_samples(data: Path, real: str) -> None:
    """Make the sample and the lexicon of its words anew."""
    words: set[str] = set()
    with ShardWriter(FOLDER / "speech", 0) as writer:
        for split, count in SPLITS:
            of = short_ones(data, "train" if split == "train" else "dev", real)
            skipped = sum(n for name, n in SPLITS if name == "dev") if split == "test" else 0
            for item in islice(of, skipped, skipped + count):
                wave = item.pop("wave")
                writer.add(item | {"split": split}, {"opus": encode(wave)})
                words |= set(item["words"])
    build_lexicon(LEXICON, sorted(words))


if __name__ == "__main__":
    one_line_errors(write_samples)(Path(sys.argv[1]), sys.argv[2])
