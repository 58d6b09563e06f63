"""Statements and questions about them aloud, as shards: voices and noise of data/speech/asr_corpus.py.

A record holds text, voice, corpus, seconds and noise_db; the blob "mel" is uint8 (128, T). A record of kind
"statement" has the facts (clauses) and three to six questions about them; of kind "statement_question" the
question, and the numbers of the one or two statements that it is about.
"""

import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from data.dialogue.draw import Draw
from data.shards import ShardReader, generate
from data.speech.asr_corpus import HearingMaker, try_engines
from data.speech.statement_pairs import PAIRED, Pairs, pair_questions
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


@lru_cache(maxsize=1)
def stated(folder: str) -> tuple[list[dict], Pairs]:
    """Statements without their sounds, and what draws two of them."""
    reader = ShardReader(folder)
    records = [reader.record(i) for i in range(len(reader))]
    return records, Pairs(records)


@dataclass(frozen=True)
class QuestionMaker(HearingMaker):
    """Question number `index` about the statements of a folder."""

    statements: str = ""

    def said(self, rng: random.Random) -> dict:
        """What is asked, and about which statements."""
        records, pairs = stated(self.statements)
        if rng.random() < PAIRED:
            places = pairs.draw(rng)
            found = pair_questions(*(records[i] for i in places), rng, self.split)
        else:
            places = (rng.randrange(len(records)),)
            found = questions(records[places[0]], Draw(rng, self.split))
        asked = rng.choice(found)
        said = {"kind": "statement_question", "text": asked["question"]}
        return said | {"statements": places, "question": asked}


def build_statements(
    folder: str | Path, count: int, seed: int = 0, split: str = "train", workers: int = 1, *,
    voices: str | None = None, shard_size: int = 1000,
) -> None:
    """Fill `folder` with statements aloud. Arguments as of `build_hearing`."""
    try_engines(voices or LISTS[split])
    make = StatementMaker(seed, split, voices=voices)
    generate(folder, make, count, shard_size, workers, f"statements {split}")


def build_questions(
    folder: str | Path, statements: Path, count: int, seed: int = 0, split: str = "train",
    workers: int = 1, *, voices: str | None = None, shard_size: int = 1000,
) -> None:
    """Fill `folder` with questions about the statements of another. Arguments as of `build_hearing`."""
    try_engines(voices or LISTS[split])
    make = QuestionMaker(seed, split, voices=voices, statements=str(statements))
    generate(folder, make, count, shard_size, workers, f"questions about statements {split}")
