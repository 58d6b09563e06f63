"""Shards for hearing from recorded speech: the same records as data/speech/asr_corpus.py, real voices.

Recordings are not disturbed: they bring their own rooms. Training speakers are never in dev or
test. What is longer than data/speech/asr_corpus.py allows is left out.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from data.readers import there
from data.readers.speech import RATE, Recording, asterisk, listed, manifest, sentence_case
from data.shards import Blobs, store
from data.speech.asr_corpus import NATURAL_SECONDS, mel_of
from data.speech.augment import set_peak
from models.errors import UserError

MANIFEST_SETS = ("speechocean762", "fsdd", "speech_commands_3words")
SHARE = Path("/usr/share")  # where Debian's package puts its prompts and their texts
PEAK = 0.7  # of full scale
SHARD_SIZE = 1000  # utterances


def recordings(folder: Path, split: str) -> Iterator[Recording]:
    """Utterances of the manifest's sets, a split of them, in the order of the shards."""
    for part in sets(folder):
        yield from filter(usable, manifest(part, split))


def texts(folder: Path, split: str) -> Iterator[str]:
    """What is said in a split of them; nothing is decoded."""
    for part in sets(folder):
        yield from (sentence_case(one["text"]) for one in listed(part, split))


def sets(folder: Path) -> list[Path]:
    """The manifest's sets that are there."""
    return [folder / name for name in there({name: folder / name for name in MANIFEST_SETS})]


def usable(recording: Recording) -> bool:
    """Whether it is as long as hearing takes it."""
    return 0.1 <= len(recording.wave) / RATE <= NATURAL_SECONDS


def kind_of(recording: Recording) -> str:
    """As data/speech/asr_corpus.py calls what is said."""
    if recording.corpus == "fsdd":
        return "digits"
    return "word" if len(recording.text.split()) == 1 else "sentence"


def build_real_hearing(folder: str | Path, source: str | Path, split: str = "train") -> int:
    """Fill `folder` from the manifest's sets under `source` and Asterisk's prompts.

    Returns how many utterances it holds.
    """
    folder = Path(folder)
    if sorted(folder.glob("shard-*.jsonl")):
        raise UserError(f"{folder} already holds shards: remove it to build it again")
    found = recordings(Path(source), split)
    if there({"asterisk": SHARE / "asterisk/sounds/en_US_f_Allison"}):
        found = chain(found, filter(usable, asterisk(SHARE, split)))
    count = store(folder, map(_item, found), SHARD_SIZE)
    if not count:
        raise UserError(f"no {split} recordings under {source}")
    return count


def _item(recording: Recording) -> tuple[dict, Blobs]:
    seconds = len(recording.wave) / RATE
    record = {"text": recording.text, "voice": recording.speaker, "corpus": recording.corpus,
              "kind": kind_of(recording), "seconds": round(seconds, 3), "noise_db": None}
    return record, {"mel": mel_of(set_peak(recording.wave, PEAK))}
