"""Speech of natural teachers to learn speaking from: Kokoro and Hibari, with exact phone times.

A record has the text, the voice and the phones with their times; `pitch`, the Hz of each phone or 0;
and `marks`, the punctuation that ends the phrase of each phone. So that phrase intonation can be
learnt, texts hold questions, exclamations, lists and pairs of sentences. The blob "wave" is int16 at
16 kHz.

    python -m data.speech.teachers FOLDER --count 12000 --split train --workers 2

The command goes on where it was cut off.
"""

import random
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from num2words import num2words

from data.shards import generate
from data.speech import sentences
from data.speech.tts import aligned
from models.errors import Parser, UserError, one_line_errors
from models.phones import MARKS

MAX_SECONDS = 14.0  # longer utterances are drawn again
SHIPPED = ("hibari:heart", "kokoro:am_fenrir", "kokoro:bf_emma", "kokoro:bm_fable")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)*'?")
LISTED = "{}, {} and {}.|I see {}, {} and {}.|We need {}, {}, and {}.|First {}, then {}, then {}."


def spoken(text: str) -> str:
    """Numbers written out in words; only plain words and the marks , . ? ! are left."""
    text = re.sub(r"\b(1[1-9]\d\d|20[0-3]\d)\b", lambda m: num2words(int(m[0]), to="year"), text)
    text = re.sub(r"\d+", lambda m: num2words(int(m[0])), text).replace("-", " ")
    return re.sub(r"\s*[;:]\s*", ", ", text)


def words_of(text: str) -> list[str]:
    """The words of a spoken text, lower-case."""
    return WORD.findall(text.lower())


def marks_of(text: str, phones: list[list]) -> list[str]:
    """The mark that ends the phrase of each phone: one of , . ? !"""
    after = ["." for _ in words_of(text)]
    number = -1
    for piece in re.findall(rf"{WORD.pattern}|[{MARKS}]", text.lower()):
        if piece in MARKS and number >= 0:
            after[number] = piece
        elif piece not in MARKS:
            number += 1
            after[number] = ""
    for n in range(len(after) - 1, -1, -1):
        after[n] = after[n] or (after[n + 1] if n + 1 < len(after) else ".")
    out, last = [], after[0]
    for _, _, _, word, _ in phones:
        last = after[word] if word >= 0 else last
        out.append(last)
    return out


def _listed(rng: random.Random, split: str, folder: str | None) -> str:
    words = [sentences.single_word(rng, folder)[:-1].lower() for _ in range(3)]
    text = rng.choice(LISTED.split("|")).format(*words)
    return text[0].upper() + text[1:]


def draw_text(rng: random.Random, split: str, folder: str | None) -> str:
    """One text of a split: ordinary English, dialogue, questions, exclamations, numbers, lists."""
    ordinary = sentences.ordinary(split, folder)
    kind = rng.random()
    if kind < 0.44:
        return rng.choice(ordinary)
    if kind < 0.62:
        return rng.choice(_ending(split, folder, "?"))
    if kind < 0.68:
        return rng.choice(_ending(split, folder, "!"))
    if kind < 0.76:
        return sentences.answer(rng, split)
    if kind < 0.82:
        return sentences.talk_question(rng, split)
    if kind < 0.88:
        return sentences.numbers(rng, split)
    if kind < 0.91:
        return sentences.digits(rng)
    if kind < 0.95:
        return _listed(rng, split, folder)
    return f"{rng.choice(ordinary)} {rng.choice(ordinary)}"


@lru_cache(maxsize=8)
def _ending(split: str, folder: str | None, mark: str) -> tuple[str, ...]:
    """Ordinary sentences that end with `mark`; all of them where none does."""
    ordinary = sentences.ordinary(split, folder)
    return tuple(s for s in ordinary if s.endswith(mark)) or ordinary


def utterance(text: str, label: str, speed: float = 1.0) -> tuple[dict, dict[str, np.ndarray]] | None:
    """`text` said by the voice "engine:name": its record and wave, None where words are miscounted."""
    words, (engine, voice) = words_of(text), label.split(":")
    speech = aligned.synthesise(text, words, engine, voice, speed)
    if speech is None:
        return None
    record = {"text": text, "normalised": " ".join(words), "voice": label,
              "phones": speech.phones, "words": words, "rate": aligned.RATE,
              "pitch": speech.pitch, "marks": marks_of(text, speech.phones)}
    return record, {"wave": speech.wave}


@dataclass(frozen=True)
class TeacherMaker:
    """Utterance number `index` of a split; voices take turns, so any part of it is balanced."""

    seed: int
    split: str
    voices: tuple[str, ...] = SHIPPED  # "engine:voice"
    folder: str | None = None  # where the manifest's text sets lie
    vary: bool = False  # tempo at random: for codecs and recognisers, not for speaking

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        rng = random.Random(f"teachers-{self.seed}-{self.split}-{'|'.join(self.voices)}-{index}")
        while True:
            text = spoken(draw_text(rng, self.split, self.folder))
            if not 1 <= len(words_of(text)) <= 40:
                continue
            speed = rng.uniform(0.8, 1.25) if self.vary else 1.0
            made = utterance(text, self.voices[index % len(self.voices)], speed)
            if made is not None and len(made[1]["wave"]) <= MAX_SECONDS * aligned.RATE:
                return made


def build_teachers(
    folder: str | Path, count: int, seed: int = 0, split: str = "train",
    voices: tuple[str, ...] = SHIPPED, workers: int = 1, *, text_folder: str | None = None,
    vary: bool = False, shard_size: int = 100,
) -> None:
    """Fill `folder` with shards of aligned natural speech; complete shards are kept."""
    for voice in voices:
        if voice.partition(":")[0] not in aligned.ENGINES:
            raise UserError(f"no aligned engine for {voice!r}: kokoro:NAME or hibari:heart")
    aligned.synthesise("Ready.", ["ready"], *voices[0].split(":"))  # what is missing is told here
    make = TeacherMaker(seed, split, tuple(voices), text_folder, vary)
    generate(folder, make, count, shard_size, workers, f"teachers {split}")


def main() -> None:
    """The command line."""
    parser = Parser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the shards go")
    parser.add_argument("--count", type=int, required=True, help="utterances")
    parser.add_argument("--seed", type=int, default=0, help="of the texts")
    parser.add_argument("--split", default="train", choices=("train", "dev", "test"))
    parser.add_argument("--voices", nargs="+", default=SHIPPED, metavar="ENGINE:VOICE",
                        help="who speaks, in turn")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--text_dir", help="the manifest's text sets (the shipped sample)")
    parser.add_argument("--vary", action="store_true", help="tempo at random")
    args = parser.parse_args()
    build_teachers(args.folder, args.count, args.seed, args.split, tuple(args.voices),
                   args.workers, text_folder=args.text_dir, vary=args.vary)


if __name__ == "__main__":
    sys.exit(one_line_errors(main)())
