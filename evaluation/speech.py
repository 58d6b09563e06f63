"""Speaking: what the judge hears in each step from the teacher's voice to the Talker's.

All rows say the same held-out sentences, and the same judge hears them twice: with its open
language model (word error rate), and choosing among these sentences (closed set). Then all rows
say generated sentences of the test split, judged with a trigram model of others (matched).
Controls: the Talker judged against another sentence's text (shuffled), and its sound backwards.
Words that the front end never saw are judged apart (unseen_words.py); random sentences must come to
their end.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from data.speech.tts_corpus import build_speaking
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from data.shards import ShardReader
from data.speech import sentences as corpus
from data.speech.sentences import answer
from data.speech.tts import flite
from evaluation import codebooks
from evaluation.asking import another
from evaluation.judge import hear, knows
from evaluation.language import arpa
from evaluation.results import error_rate, mean, rate
from evaluation.robustness import LengthBesideTeacher, random_sentences, robust
from evaluation.setting import SEED, Measured, Setting
from evaluation.unseen_words import unseen_words
from evaluation.words import (
    letter_errors,
    skips_and_repeats,
    spoken_words,
    word_errors,
)
from inference.speech import Speaker
from models.errors import UserError
from models.griffinlim import griffin_lim
from models.mel import HOP, SAMPLE_RATE, log_mel
from models.refine import refine

SENTENCES = 200
TEST_UTTERANCES = 600
RANDOM = 500  # sentences of random words
UNSEEN_WORDS = 120  # words never seen
GENERATED, LANGUAGE = 60, 2000  # generated sentences judged, and others for the language model
WORDS = range(3, 13)  # words of a sentence: shorter says little, longer takes the judge long


@dataclass
class Row:
    """One sentence in every stage; waves float32 (samples,)."""

    text: str
    waves: dict[str, np.ndarray]
    codes: Tensor  # (T, K) of the teacher's speech
    seconds: dict[str, float]  # computing time of a stage; "first": to the Talker's first sound


def measure(setting: Setting) -> Measured:
    """Figures of every stage."""
    speaker = Speaker.from_pretrained(setting.ckpt_dir)
    chosen, reader = held_out(setting, speaker)
    rows = [say(speaker, item) for item in tqdm(chosen, desc="speaking")]
    drawn = generated(setting.count(GENERATED), speaker.voices[0])
    plain = [say(speaker, item) for item in tqdm(drawn, desc="speaking generated sentences")]
    workers = setting.workers
    figures = judged(rows, workers) | matched(plain, workers) | pace(rows)
    figures |= unseen_words(speaker, setting, setting.count(UNSEEN_WORDS))
    codes = [row.codes for row in rows]
    everything = torch.cat(all_codes(speaker, reader))
    figures |= codebooks.use(everything, speaker.codec.config.codebook_size)
    teachers = [row.waves["teacher"] for row in rows]
    figures |= codebooks.ladder(speaker, codes, teachers, [row.text for row in rows], workers)
    return figures | endings(speaker, setting)


def held_out(setting: Setting, speaker: Speaker) -> tuple[list[dict], ShardReader]:
    """The sentences that are judged, said by the teacher, and all that they are chosen from."""
    folder = setting.data_dir / "speaking_test"
    build_speaking(
        folder, TEST_UTTERANCES, SEED, "test", workers=setting.workers,
        text_folder=str(setting.real_dir) if setting.real_dir else None, ordinary_only=True,
    )
    reader = ShardReader(folder)
    return sentences(reader, setting.count(SENTENCES), speaker.voices), reader


def known_answers(rng: random.Random, split: str, count: int) -> list[str]:
    """Different generated answers of a split whose words the judge knows."""
    texts: dict[str, None] = {}
    while len(texts) < count:
        text = answer(rng, split)
        if len(spoken_words(text)) in WORDS and knows(text):
            texts[text] = None
    return list(texts)


def generated(count: int, voice: str) -> list[dict]:
    """Generated sentences as the teacher says them."""
    texts = known_answers(random.Random(f"generated-{SEED}"), "test", count)
    return [{"text": t, "voice": voice, "wave": flite.synthesise(t, voice).wave} for t in texts]


def sentences(reader: ShardReader, count: int, voices: list[str]) -> list[dict]:
    """The first sentences of fair length whose words the judge knows, in voices the Talker has."""
    chosen, texts = [], set()
    for i in range(len(reader)):
        record = reader.record(i)
        fair = len(spoken_words(record["text"])) in WORDS and record["voice"] in voices
        if fair and record["text"] not in texts and knows(record["text"]):
            chosen.append(reader[i])
            texts.add(record["text"])
            if len(chosen) == count:
                return chosen
    if len(chosen) < 2:
        raise UserError(f"{reader.folder} has no sentences to judge: build speaking_test anew")
    return chosen


@torch.inference_mode()
def teacher_codes(speaker: Speaker, samples: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
    """int16 (samples,) -> the wave in whole code frames (samples,), mel (1, 128, T), codes (T/4, K)."""
    wave = torch.from_numpy(samples.astype(np.float32) / 32768)
    frame = speaker.codec.config.stack * HOP  # samples of a code frame
    wave = F.pad(wave, (0, -len(wave) % frame))  # (samples,)
    mel = log_mel(wave)[None]  # (1, 128, T)
    return wave, mel, speaker.codec.encode(mel)[0]


def all_codes(speaker: Speaker, reader: ShardReader) -> list[Tensor]:
    """Codes (T, K) of every utterance: a few thousand frames make a codebook look half used."""
    return [teacher_codes(speaker, reader[i]["wave"])[2] for i in range(len(reader))]


@torch.inference_mode()
def say(speaker: Speaker, item: dict) -> Row:
    """One sentence by the teacher, through codec and vocoders, and by the Talker."""
    wave, _, codes = teacher_codes(speaker, item["wave"])
    coded = speaker.codec.decode(codes[None])  # (1, 128, T)
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    chunks = []
    for chunk in speaker.speak_stream(item["text"], voice=item["voice"], seed=SEED):
        seconds.setdefault("first", time.perf_counter() - start)
        chunks.append(chunk)
    seconds["talker"] = time.perf_counter() - start
    talked = np.concatenate(chunks)
    waves = {
        "teacher": wave,
        "codec_griffinlim": griffin_lim(coded, seed=SEED)[0],
        "codec_vocoder": refine(speaker.vocoder(coded), coded)[0],
    }
    arrays = {name: made.float().numpy() for name, made in waves.items()}
    arrays |= {"talker": talked, "talker_reversed": np.ascontiguousarray(talked[::-1])}
    return Row(item["text"], arrays, codes, seconds)


JUDGED = ("teacher", "codec_griffinlim", "codec_vocoder", "talker", "talker_reversed")


def judged(rows: list[Row], workers: int) -> Measured:
    """Error rates with the open model, and how often the right sentence is chosen."""
    texts = [row.text for row in rows]
    figures: Measured = {}
    for name in JUDGED:
        waves = [row.waves[name] for row in rows]
        said = hear(waves, workers, f"judging {name}")
        chosen = hear(waves, workers, f"choosing {name}", choices=texts)
        for row, truth in against(name, texts).items():
            right = [spoken_words(t) == s.split() for t, s in zip(truth, chosen, strict=True)]
            figures[f"{row}/closed"] = rate(right, SEED)
            figures |= {f"{row}/{k}": f for k, f in errors(truth, said).items()}
    return figures


def errors(texts: list[str], said: list[str]) -> Measured:
    """Word and letter error rates; sentences skipped in or repeating."""
    both = list(zip(texts, said, strict=True))
    figures = {
        "wer": error_rate([word_errors(t, s) for t, s in both], SEED),
        "cer": error_rate([letter_errors(t, s) for t, s in both], SEED),
    }
    flaws = [skips_and_repeats(t, s) for t, s in both]
    figures["skips"] = rate([skipped for skipped, _ in flaws], SEED)
    figures["repeats"] = rate([repeated for _, repeated in flaws], SEED)
    return figures


def matched(rows: list[Row], workers: int) -> Measured:
    """Word error rates of generated sentences, by a language model of others of their sort."""
    texts = [row.text for row in rows]
    others = known_answers(random.Random("language model"), "train", LANGUAGE)
    figures: Measured = {}
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "answers.arpa"
        model.write_text(arpa([spoken_words(text) for text in others]), encoding="utf-8")
        for name in JUDGED:
            waves = [row.waves[name] for row in rows]
            said = hear(waves, workers, f"judging generated, {name}", model=model)
            for row, truth in against(name, texts).items():
                pairs = [word_errors(t, s) for t, s in zip(truth, said, strict=True)]
                figures[f"{row}/matched"] = error_rate(pairs, SEED)
    return figures


def against(name: str, texts: list[str]) -> dict[str, list[str]]:
    """The rows that one set of sounds gives, with the texts they are held against."""
    if name != "talker":
        return {name: texts}
    return {name: texts, "talker_shuffled": [texts[i] for i in another(len(texts))]}


def pace(rows: list[Row]) -> Measured:
    """Computing time beside the sound's, time to the first sound, length beside the teacher's."""
    lengths = [len(row.waves["talker"]) / SAMPLE_RATE for row in rows]
    taught = [len(row.waves["teacher"]) / SAMPLE_RATE for row in rows]
    ratios = [made / true for made, true in zip(lengths, taught, strict=True)]
    shares = [row.seconds["talker"] / made for row, made in zip(rows, lengths, strict=True)]
    figures = {
        "talker/real_time_factor": mean(shares, SEED),
        "talker/duration_ratio": mean(ratios, SEED),
        "talker/first_sound": mean([1000 * row.seconds["first"] for row in rows], SEED, "ms"),
    }
    return figures


def endings(speaker: Speaker, setting: Setting) -> Measured:
    """Whether random sentences come to their end, by the Talker's first voice."""
    words = corpus.vocabulary(str(setting.real_dir) if setting.real_dir else None)
    texts = random_sentences(words[: corpus.VOCABULARY], setting.count(RANDOM))
    length = LengthBesideTeacher(setting.ckpt_dir, speaker.voices[0])
    return robust(texts, length, setting.workers)
