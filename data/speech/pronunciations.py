"""Pronunciation lexicon: words with their phones, for the grapheme-to-phone model to learn from.

Phones are those of the natural teachers' own front end (misaki's rules in Hibari), so that what
the front end writes is what the teachers' recordings say.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from data.progress import progress
from data.speech.tts import aligned
from models.files import replacing


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
        for word in progress(dict.fromkeys(words), desc="lexicon", unit="word"):
            phones = aligned.word_phones(word)
            if phones:
                line = {"word": word, "phones": phones, "split": lexicon_split(word)}
                file.write(json.dumps(line) + "\n")
                count += 1
    return count
