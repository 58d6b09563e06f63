"""Recorded speech on disk: the manifest's tars, Asterisk's prompts.

Every reader yields `Recording`s with the wave as float32 at 16 kHz, mono. Splits are by speaker; the
one of Asterisk is in train. A missing folder or file is a UserError that names it.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from data.speech.augment import resample
from data.splits import slot
from models.errors import UserError

RATE = 16000  # Hz


@dataclass
class Recording:
    """One utterance: wave float32 (samples,), verbatim text, who said it, in which corpus."""

    wave: np.ndarray
    text: str
    speaker: str
    corpus: str


def speaker_split(speaker: str) -> str:
    """train (84 %), dev (8 %) or test (8 %), by a stable hash of the speaker's name."""
    place = slot(speaker.encode())
    return "dev" if place < 8 else "test" if place < 16 else "train"


def sentence_case(text: str) -> str:
    """"WE CALL IT BEAR" -> "We call it bear."; mixed case is left as it is."""
    text = " ".join(text.split())
    if text == text.upper():
        text = re.sub(r"\bi\b", "I", text.lower())
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".?!" else text + "."


def decode(source: bytes | Path) -> np.ndarray:
    """Any file that libsndfile reads -> float32 (samples,) at 16 kHz, channels averaged."""
    try:
        wave, rate = soundfile.read(
            io.BytesIO(source) if isinstance(source, bytes) else source,
            dtype="float32", always_2d=True,
        )  # (samples, channels)
    except (soundfile.LibsndfileError, OSError) as error:
        name = "audio" if isinstance(source, bytes) else source
        raise UserError(f"cannot read {name}: {error}") from error
    wave = wave.mean(axis=1)  # (samples,)
    return wave if rate == RATE else resample(wave, RATE / rate)


def _need(path: Path, what: str) -> Path:
    if not path.exists():
        raise UserError(f"no {what} at {path}: give the folder that holds it")
    return path


def listed(folder: Path, split: str) -> list[dict]:
    """What `meta.jsonl` tells of a split's utterances: file, text, and the speaker as SET:NAME."""
    lines = _need(folder / "meta.jsonl", "meta.jsonl").read_text(encoding="utf-8").splitlines()
    named = [one | {"speaker": f"{folder.name}:{one['speaker']}"} for one in map(json.loads, lines)]
    return [one for one in named if speaker_split(one["speaker"]) == split]


def manifest(folder: str | Path, split: str) -> Iterator[Recording]:
    """`meta.jsonl` + `audio.tar`, members in the same order (speechocean762, fsdd, ...)."""
    folder, meta = Path(folder), {record["file"]: record for record in listed(folder, split)}
    with tarfile.open(_need(folder / "audio.tar", "audio.tar"), "r|") as tar:
        for member in tar:
            record = meta.get(Path(member.name).name)
            if record is None or not member.isfile():
                continue
            wave = decode(tar.extractfile(member).read())
            yield Recording(wave, sentence_case(record["text"]), record["speaker"], folder.name)


def asterisk(folder: str | Path, split: str) -> Iterator[Recording]:
    """Debian's asterisk-core-sounds-en-wav: prompts of one American, at the telephone's 8 kHz.

    All are in train: there is one speaker. Prompts with figures or noises in their text are left out.
    """
    if split != "train":
        return
    folder = Path(folder)
    listed = _need(folder / "doc/asterisk-core-sounds-en/core-sounds-en.txt.gz", "list of prompts")
    with gzip.open(listed, "rt", encoding="utf-8") as file:
        lines = [line.partition(":") for line in file if not line.startswith(";")]
    for name, _, text in lines:
        path = folder / "asterisk/sounds/en_US_f_Allison" / f"{name.strip()}.wav"
        if text.strip() and not re.search(r"[\d\[(]", text) and path.exists():
            yield Recording(decode(path), sentence_case(text), "asterisk:allison", "asterisk")
