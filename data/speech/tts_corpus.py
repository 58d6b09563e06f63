"""Speech to learn speaking from: clear voices, with every phone's time; and the lexicon beside it.

A record holds text, words, voice and phones [[phone, start, end, word or -1, stress], ...] in
seconds; the blob "wave" is int16 at 16 kHz. There is no noise here: data/speech/asr_corpus.py adds that.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from data.shards import ShardWriter, generate
from data.speech import samples, sentences
from data.speech.tts import flite
from data.speech.voices import SPEAKING, Voice
from models.errors import UserError
from models.files import replacing

MAX_SECONDS = 12.0  # longer sentences are drawn again


def _text(rng: random.Random, split: str, folder: str | None) -> str:
    kind = rng.random()
    if kind < 0.60:
        return rng.choice(sentences.ordinary(split, folder))
    if kind < 0.88:
        return sentences.answer(rng, split)
    if kind < 0.94:
        return sentences.numbers(rng, split)
    return sentences.talk_question(rng, split) if kind < 0.98 else sentences.digits(rng)


@dataclass(frozen=True)
class SpeakingMaker:
    """Utterance number `index` of a split, the same on every machine with the same flite."""

    seed: int
    split: str
    voices: tuple[Voice, ...] = SPEAKING
    folder: str | None = None  # where the manifest's text sets lie
    ordinary_only: bool = False  # only sentences of ordinary English, as for a test set

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        rng = random.Random(f"speaking-{self.seed}-{self.split}-{index}")
        voice = rng.choices(self.voices, [v.weight for v in self.voices])[0]
        while True:
            if self.ordinary_only:
                text = rng.choice(sentences.ordinary(self.split, self.folder))
            else:
                text = _text(rng, self.split, self.folder)
            speech = flite.synthesise(text, voice.name)
            if len(speech.wave) <= MAX_SECONDS * flite.RATE:
                break
        record = {"text": text, "normalised": " ".join(speech.words), "voice": voice.name,
                  "phones": speech.phones, "words": speech.words, "rate": flite.RATE}
        return record, {"wave": speech.wave}


@dataclass(frozen=True)
class _SampleMaker:
    """The shipped utterances, over again: for tests and the nano preset, with no engine."""

    split: str

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        chosen = samples.samples(self.split)
        record = dict(chosen[index % len(chosen)])
        wave = record.pop("wave")
        return record, {"wave": wave}


def build_speaking(
    folder: str | Path, count: int, seed: int = 0, split: str = "train",
    voices: Sequence[Voice] | None = None, workers: int = 1, *, text_folder: str | None = None,
    ordinary_only: bool = False, source: str = "flite", shard_size: int = 500,
) -> None:
    """Fill `folder` with speaking shards; source "samples" needs no engine."""
    if source == "samples":
        make = _SampleMaker(split)
    elif source == "flite":
        chosen = tuple(voices or SPEAKING)
        unaligned = [v.label for v in chosen if v.name not in flite.ALIGNED_VOICES]
        if unaligned:
            raise UserError(f"no exact alignment for {', '.join(unaligned)}: "
                            f"choose among {', '.join(flite.ALIGNED_VOICES)}")
        flite.synthesise("ready", chosen[0].name)  # a missing engine is told here, not in a worker
        make = SpeakingMaker(seed, split, chosen, text_folder, ordinary_only)
    else:
        raise UserError(f"unknown source {source!r}: flite or samples")
    generate(folder, make, count, shard_size, workers, f"speaking {split}")


def word_phones(word: str) -> list[str]:
    """flite's phone tokens of one word said alone, without pauses."""
    speech = flite.synthesise(word, "kal16")  # its front end is the others', its sound is quick
    return [phone for phone, *_ in speech.phones if phone != "pau"]


def lexicon_split(word: str) -> str:
    """train, dev (2 %) or test (2 %): the front end learns the words of train."""
    slot = random.Random(f"lexicon-{word}").randrange(100)
    return "dev" if slot < 2 else "test" if slot < 4 else "train"


def build_lexicon(path: str | Path, words: Sequence[str]) -> int:
    """Write {"word", "phones", "split"} lines (2 % dev, 2 % test); returns how many."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for word in tqdm(dict.fromkeys(words), desc="lexicon", unit="word"):
            phones = word_phones(word)
            if phones:
                line = {"word": word, "phones": phones, "split": lexicon_split(word)}
                file.write(json.dumps(line) + "\n")
                count += 1
    return count


def write_samples(seed: int = 0) -> None:
    """Make the sample anew (needs flite): short public-domain sentences and answers."""
    words: list[str] = []
    seen: set[str] = set()
    with ShardWriter(samples.FOLDER / "speech", 0) as writer:
        for split, count in samples.SPLITS:
            make = SpeakingMaker(seed, split)
            index = 0
            while count:
                record, blobs = make(index)
                index += 1
                if record["text"] in seen or len(blobs["wave"]) > samples.MAX_SECONDS * samples.RATE:
                    continue
                seen.add(record["text"])
                writer.add(record | {"split": split}, {"opus": samples.encode(blobs["wave"])})
                words += record["words"]
                count -= 1
    chosen = sorted(set(words))
    random.Random(seed).shuffle(chosen)
    build_lexicon(samples.LEXICON, chosen)
