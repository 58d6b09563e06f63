"""Statements aloud, as shards: the voices, rooms and noise of data/speech/asr_corpus.py.

A record holds text, kind "statement", the facts (clauses), three to six questions about them, voice, corpus,
seconds and noise_db; the blob "mel" is uint8 (128, T).
"""

import random
from pathlib import Path

from data.dialogue.draw import Draw
from data.shards import generate
from data.speech.asr_corpus import HearingMaker, try_engines
from data.speech.statement_questions import questions
from data.speech.statements import statement
from data.speech.voices import LISTS


class StatementMaker(HearingMaker):
    """Statement number `index` of a split."""

    longest = 7.0  # seconds of speech

    def said(self, rng: random.Random) -> dict:
        """A statement and what is asked about it."""
        made = statement(rng, self.split)
        return {"kind": "statement", **made, "questions": questions(made, Draw(rng, self.split))}


def build_statements(
    folder: str | Path, count: int, seed: int = 0, split: str = "train", workers: int = 1, *,
    voices: str | None = None, shard_size: int = 1000,
) -> None:
    """Fill `folder` with statements aloud. Arguments as of `build_hearing`."""
    try_engines(voices or LISTS[split])
    make = StatementMaker(seed, split, voices=voices)
    generate(folder, make, count, shard_size, workers, f"statements {split}")
