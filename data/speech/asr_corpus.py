"""Speech to learn hearing from: many voices, disturbed as in life, as quantised log-mel.

A record holds the verbatim text, voice, corpus, kind, seconds and noise_db; the blob "mel" is uint8
(128, T). Voices and sentences of dev and test are never in train. No waveform is kept.
"""

import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from data.dialogue.conversation import user_sentences
from data.scenes.build import SEEDS, SPOKEN, MakeScene
from data.shards import generate
from data.speech import sentences
from data.speech.augment import add_noise, coloured_noise, disturb, pad, set_peak
from data.speech.samples import samples
from data.speech.speak import speak
from data.speech.voices import HEARING, LISTS, Voice
from models.errors import UserError
from models.mel import SAMPLE_RATE, SILENCE, log_mel

MAX_SECONDS = 8.0  # longer utterances are drawn again
NATURAL = ("kokoro", "hibari")  # lists of voices that read whole sentences of books, rare words too
NATURAL_SECONDS = 12.0  # longest utterance of these
BOOK_SHARE = 0.5  # of their utterances are sentences of books
MEL_STEPS = 15.0  # quantisation levels per natural-log unit
MEL_OFFSET = 11.6  # just under the silence floor, ln(1e-5)
BABBLE_VOICES = 16
SHIPPED = {"samples": "speech", "words": "words"}  # a source: its folder of data/samples


def quantise_mel(mel: np.ndarray | torch.Tensor) -> np.ndarray:
    """Log-mel -> uint8, in steps of 1/15 of a natural-log unit (0.6 dB)."""
    values = np.asarray(mel, dtype=np.float32)
    return np.clip(np.round((values + MEL_OFFSET) * MEL_STEPS), 0, 255).astype(np.uint8)


def dequantise_mel(levels: np.ndarray | torch.Tensor) -> torch.Tensor:
    """uint8 -> float32 log-mel of the same shape, never under the silence floor."""
    if not isinstance(levels, torch.Tensor):
        levels = torch.from_numpy(np.array(levels))  # a copy: shards are read-only views
    return (levels.float() / MEL_STEPS - MEL_OFFSET).clamp_min(SILENCE)


def mel_of(wave: np.ndarray) -> np.ndarray:
    """float32 (samples,) -> uint8 (128, samples // 160)."""
    return quantise_mel(log_mel(torch.from_numpy(np.ascontiguousarray(wave, np.float32))))


@lru_cache(maxsize=2)
def babble(seed: int) -> np.ndarray:
    """Several voices at once, some seconds long; the same for every utterance of a seed."""
    rng = random.Random(f"babble-{seed}")
    kal16 = Voice("flite", "kal16", 1, f0=100)
    total = np.zeros(6 * SAMPLE_RATE, np.float32)
    for _ in range(BABBLE_VOICES):
        text = " ".join(rng.choice(sentences.ordinary("train")) for _ in range(3))
        wave = speak(text, kal16, rng)
        total += np.resize(wave, len(total)) * rng.uniform(0.3, 1.0)
    return total / np.abs(total).max()


def hearing_text(rng: random.Random, split: str, folder: str | None) -> dict:
    """What is said: ordinary sentences, questions with their answers, digits and single words.

    A question about a picture names which scene of the split's scene folder it is about.
    """
    kind = rng.random()
    if kind < 0.50:
        text = rng.choice(sentences.ordinary(split, folder, common_only=True))
        return {"text": text, "kind": "sentence"}
    if kind < 0.75:
        index = rng.randrange(SPOKEN)
        question = rng.choice(MakeScene(SEEDS[split], split).describe(index)[1]["questions"])
        return {"text": question["question"], "kind": "scene_question", "scene": index,
                "question": question}
    if kind < 0.95:
        asked = next(user_sentences(rng, split))
        return {"text": asked["question"], "kind": "talk_question", "question": asked}
    if kind < 0.975:
        return {"text": sentences.digits(rng), "kind": "digits"}
    return {"text": sentences.single_word(rng, folder), "kind": "word"}


@dataclass(frozen=True)
class HearingMaker:
    """Utterance number `index` of a split."""

    seed: int
    split: str
    folder: str | None = None  # where the manifest's text sets lie
    snr_db: float | None = None  # a fixed noise level, for a noisy test set
    voices: str | None = None  # a list of data/speech/voices.HEARING; None: the split's own

    @property
    def longest(self) -> float:
        """Seconds of speech, before the pauses around it."""
        return (NATURAL_SECONDS if self.voices in NATURAL else MAX_SECONDS) - 0.6

    def said(self, rng: random.Random) -> dict:
        """What is said, with its kind and what may be asked."""
        if self.voices in NATURAL and rng.random() < BOOK_SHARE:
            return {"text": rng.choice(sentences.read(self.split, self.folder)), "kind": "sentence"}
        return hearing_text(rng, self.split, self.folder)

    def _clean(self, rng: random.Random) -> tuple[np.ndarray, dict, Voice]:
        voices = HEARING[self.voices or LISTS[self.split]]
        while True:
            voice = rng.choices(voices, [v.weight for v in voices])[0]
            said = self.said(rng)
            wave = speak(said["text"], voice, rng, vary=self.split == "train")
            if len(wave) <= self.longest * SAMPLE_RATE:
                return wave, said, voice

    def wave(self, index: int) -> tuple[dict, np.ndarray]:
        """The record and what is heard, float32 (samples,) at 16 kHz."""
        rng = random.Random(f"hearing-{self.seed}-{self.split}-{index}")
        noise_rng = np.random.default_rng([self.seed, index])
        wave, said, voice = self._clean(rng)
        wave = pad(wave, rng.uniform(0, 0.3), rng.uniform(0, 0.3))
        snr = None
        if self.snr_db is not None:
            snr = self.snr_db
            wave = add_noise(wave, coloured_noise(len(wave), 1.0, noise_rng), snr)
            wave = set_peak(wave, 0.7)
        elif self.split == "train":
            wave, snr = disturb(wave, babble(self.seed), noise_rng)
        else:
            wave = set_peak(wave, 0.7)
        record = said | {
            "voice": voice.label,
            "corpus": "synthetic",
            "seconds": round(len(wave) / SAMPLE_RATE, 3),
            "noise_db": snr,
        }
        return record, wave

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        record, wave = self.wave(index)
        return record, {"mel": mel_of(wave)}


@dataclass(frozen=True)
class _SampleMaker:
    """The shipped utterances with fresh gain and noise, over again: no engine is needed."""

    seed: int
    split: str
    name: str = "speech"

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        chosen = samples(self.split, self.name)
        sample = chosen[index % len(chosen)]
        rng = np.random.default_rng([self.seed, index])
        wave = sample["wave"].astype(np.float32) / 32768
        snr = None
        if self.split == "train":
            wave, snr = disturb(wave, np.roll(wave, len(wave) // 2), rng)
        record = {"text": sample["text"], "voice": sample["voice"], "corpus": "samples",
                  "kind": "sentence", "seconds": round(len(wave) / SAMPLE_RATE, 3), "noise_db": snr}
        return record, {"mel": mel_of(wave)}


def try_engines(voices: str) -> None:
    """Each engine of a list says one word: a missing one is told here, not in a worker."""
    for engine in {voice.engine: voice for voice in HEARING[voices]}.values():
        speak("ready", engine, random.Random(0), vary=False)


def build_hearing(
    folder: str | Path, count: int, seed: int = 0, split: str = "train", workers: int = 1, *,
    text_folder: str | None = None, snr_db: float | None = None, source: str = "engines",
    shard_size: int = 1000, voices: str | None = None,
) -> None:
    """Fill `folder` with hearing shards; sources "samples" and "words" need no engine."""
    if source in SHIPPED:
        make = _SampleMaker(seed, split, SHIPPED[source])
    elif source == "engines":
        try_engines(voices or LISTS[split])
        make = HearingMaker(seed, split, text_folder, snr_db, voices)
    else:
        raise UserError(f"unknown source {source!r}: engines, samples or words")
    generate(folder, make, count, shard_size, workers, f"hearing {split}")
