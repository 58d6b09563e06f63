"""The speech that codec, vocoder and talker share: made once, read by all three.

Each stage says in its `data` section how many utterances it learns from; they are a prefix of one
list, so a stage with few can start while the rest is being made. Nothing is learned here.
"""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path

from data.crops import CropReader
from data.speech import sentences
from data.speech.pronunciations import build_lexicon
from data.speech.speaking_sets import SHIPPED_SETS, build_set
from models.codec import MelCodec
from models.frontend import Frontend
from models.mel import FRAME_RATE, HOP
from models.omni import save_part
from models.talker import Talker
from models.vocoder import Vocoder
from training.objective import Paths

DEV_SHARE = 0.05  # utterances to validate on, of those to train on
RARE_WORDS = 40_000  # of cmudict, beside the common words: enough to learn English spelling from
WORD = re.compile(r"[a-z]{2,16}")


def prepare_speech(config: dict, paths: Paths) -> None:
    """Make what is missing of the sets of speech that a stage names."""
    real = str(paths.real) if paths.real else None
    for name, count in config["data"]["speech"].items():
        for split, wanted in (("train", count), ("dev", max(1, round(count * DEV_SHARE)))):
            folder = paths.data / f"{name}_{split}"
            build_set(name, folder, wanted, config["seed"], split, config["workers"], real)


def crops(config: dict, paths: Paths, seconds: float, split: str = "train") -> CropReader:
    """Crops of `seconds` from the sets of speech that a stage names, in its shares."""
    data, samples = config["data"], round(seconds * FRAME_RATE) * HOP
    shares = {paths.data / f"{name}_{split}": float(data["shares"][name]) for name in data["speech"]}
    if split != "train":
        return CropReader(shares, samples, seed=0)
    counts = {paths.data / f"{name}_train": count for name, count in data["speech"].items()}
    return CropReader(shares, samples, config["seed"], counts, data.get("noisy", 0.0))


def prepare_lexicon(config: dict, paths: Paths) -> None:
    """Make the lexicon if it is missing: phones of common words and of cmudict's."""
    path = paths.data / "lexicon.jsonl"
    if path.exists() or SHIPPED_SETS & set(config["data"]["speech"]):
        return
    words = list(sentences.vocabulary(str(paths.real) if paths.real else None))
    if paths.real:
        rare = dictionary_words(paths.real / "text" / "cmudict.txt.gz")
        words += random.Random(0).sample(rare, min(RARE_WORDS, len(rare)))
    build_lexicon(path, words)


def attach_speech(folder: Path, paths: Paths) -> None:
    """Put the four speaking parts beside the parts of an omni checkpoint in `folder`."""
    sources = {
        "codec": (MelCodec, paths.need("codec")),
        "vocoder": (Vocoder, paths.need("vocoder")),
        "talker": (Talker, paths.need("talker")),
        "frontend": (Frontend, paths.need("talker") / "frontend"),
    }
    for name, (kind, source) in sources.items():
        save_part(folder, name, kind.from_pretrained(source))


def dictionary_words(path: Path) -> list[str]:
    """The plain words of cmudict, lower case."""
    with gzip.open(path, "rt", encoding="latin-1") as file:
        heads = (line.split(maxsplit=1)[0].lower() for line in file if line.strip())
        return list(dict.fromkeys(word for word in heads if WORD.fullmatch(word)))
