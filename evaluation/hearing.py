"""What two judges make of a sound: its estimated MOS, and the words that Whisper writes."""

from __future__ import annotations

from dataclasses import dataclass

from evaluation.mos import opinions
from evaluation.results import error_rate, mean, rate
from evaluation.said import Said
from evaluation.setting import Measured
from evaluation.whisper import transcripts
from evaluation.words import skips_and_repeats, word_errors


@dataclass
class Heard:
    """One sound judged: what was to be said, what was heard, how natural it is (1..5)."""

    text: str
    transcript: str
    mos: float

    @staticmethod
    def figures(row: str, heard: list[Heard]) -> Measured:
        """`row/mos`, `row/wer`, `row/skips` and `row/repeats`."""
        pairs = [(h.text, h.transcript) for h in heard]
        flaws = [skips_and_repeats(*pair) for pair in pairs]
        return {
            f"{row}/mos": mean([h.mos for h in heard], "MOS"),
            f"{row}/wer": error_rate([word_errors(*pair) for pair in pairs]),
            f"{row}/skips": rate([skipped for skipped, _ in flaws]),
            f"{row}/repeats": rate([repeated for _, repeated in flaws]),
        }


def judged(sounds: list[Said], workers: int, desc: str) -> list[Heard]:
    """Both judges on every sound."""
    waves = [said.wave for said in sounds]
    said = transcripts(waves, workers, f"Whisper hears {desc}")
    liked = opinions(waves, workers, f"opinions of {desc}")
    together = zip(sounds, said, liked, strict=True)
    return [Heard(sound.text, text, mos) for sound, text, mos in together]
