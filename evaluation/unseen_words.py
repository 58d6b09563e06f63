"""Words that the front end never saw, in plain sentences: are they spoken as well as by the teacher?

In held-out sentences of ordinary English such words are too few to count. Here one stands in each
sentence, and its letters alone are judged, in the Talker's speech and in the teacher's.
"""

from __future__ import annotations

from data.shards import ShardReader
from data.speech import sentences as corpus
from data.speech.pronunciations import lexicon_split
from data.speech.teachers import SHIPPED
from data.speech.tts import aligned
from evaluation.results import error_rate
from evaluation.said import as_float
from evaluation.setting import Measured, Setting
from evaluation.whisper import transcripts
from evaluation.words import letter_errors_of
from inference.speech import Speaker
from models.errors import UserError

SHORTEST = 4  # letters: shorter words are lost by the judge whoever speaks
CARRIERS = (
    "They talked about the {} for a long time.",
    "I have never heard of the {} before.",
    "She wrote a letter about the {} yesterday.",
    "We can see the {} from here.",
)


def held_out_words(setting: Setting, count: int) -> list[str]:
    """The most frequent words that neither the lexicon nor the Talker's training taught."""
    taught: set[str] = set()
    for folder in (setting.data_dir / "heart_train", setting.data_dir / "kokoro_train"):
        if not folder.is_dir():
            raise UserError(f"{folder} is missing: which words were taught cannot be told (--data_dir)")
        reader = ShardReader(folder)
        for i in range(len(reader)):
            taught |= set(reader.record(i)["words"])
    words = []
    for word in corpus.vocabulary(str(setting.real_dir) if setting.real_dir else None):
        held_out = word.isalpha() and lexicon_split(word) != "train" and word not in taught
        if held_out and len(word) >= SHORTEST:
            words.append(word)
            if len(words) == count:
                return words
    if not words:
        raise UserError("no words are left that the front end never saw: give --real_dir")
    return words


def unseen_words(speaker: Speaker, setting: Setting, count: int) -> Measured:
    """Letter error rates of such words: the teacher's and the Talker's."""
    words = held_out_words(setting, count)
    texts = [CARRIERS[i % len(CARRIERS)].format(word) for i, word in enumerate(words)]
    voices = [speaker.voices[i % len(speaker.voices)] for i in range(len(words))]
    both = list(zip(texts, voices, strict=True))
    waves = {
        "teacher": [as_float(aligned.say(t, *SHIPPED[speaker.voices.index(v)].split(":"))) for t, v in both],
        "talker": [speaker.speak(text, voice)[0] for text, voice in both],
    }
    figures: Measured = {}
    for name, spoken in waves.items():
        said = transcripts(spoken, setting.workers, f"words never seen, {name}")
        pairs = [
            letter_errors_of({word}, text, heard)
            for word, text, heard in zip(words, texts, said, strict=True)
        ]
        figures[f"{name}/unseen_cer"] = error_rate(pairs)
    return figures
