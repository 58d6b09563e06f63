"""Speaking: what the judge hears in each step from the teacher's voice to the Talker's.

All rows say the same held-out sentences, and the same judge hears them twice: with its open
language model (word error rate), and choosing among these sentences (closed set). Then all rows
say generated sentences of the test split, judged with a trigram model of others (matched).
Controls: the Talker judged against another sentence's text (shuffled), and its sound backwards.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from data.sentences import answer
from data.shards import ShardReader
from data.speaking import build_speaking
from data.tts import flite
from evaluation.asking import another
from evaluation.judge import hear, knows
from evaluation.language import arpa
from evaluation.results import Figure, error_rate, mean, rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.words import spoken_words, word_errors
from inference.speech import REFINE, Speaker
from models.errors import UserError
from models.griffinlim import griffin_lim, refine
from models.mel import HOP, SAMPLE_RATE, log_mel
from models.quantizer import perplexity

SENTENCES = 100
TEST_UTTERANCES = 300
GENERATED, LANGUAGE = 60, 2000  # generated sentences judged, and others for the language model
WORDS = range(3, 13)  # words of a sentence: shorter says little, longer takes the judge long


@dataclass
class Row:
    """One sentence in every stage; waves float32 (samples,)."""

    text: str
    waves: dict[str, np.ndarray]
    codes: Tensor  # (T, K) of the teacher's speech
    seconds: float  # computing time of the Talker's speech


def measure(setting: Setting) -> Measured:
    """Figures of every stage."""
    folder = setting.data_dir / "speaking_test"
    build_speaking(
        folder, TEST_UTTERANCES, SEED, "test", workers=setting.workers,
        text_folder=str(setting.real_dir) if setting.real_dir else None, ordinary_only=True,
    )
    speaker = Speaker.from_pretrained(setting.ckpt_dir)
    chosen = sentences(ShardReader(folder), setting.count(SENTENCES), speaker.voices)
    rows = [say(speaker, item) for item in tqdm(chosen, desc="speaking")]
    drawn = generated(setting.count(GENERATED), speaker.voices[0])
    plain = [say(speaker, item) for item in tqdm(drawn, desc="speaking generated sentences")]
    figures = judged(rows, setting.workers) | matched(plain, setting.workers)
    return figures | fidelity(rows) | codebooks(speaker, rows) | pace(rows)


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
def say(speaker: Speaker, item: dict) -> Row:
    """One sentence by the teacher, through codec and vocoders, and by the Talker."""
    wave = torch.from_numpy(item["wave"].astype(np.float32) / 32768)
    frame = speaker.codec.config.stack * HOP  # samples of a code frame
    wave = F.pad(wave, (0, -len(wave) % frame))  # (samples,)
    mel = log_mel(wave)[None]  # (1, 128, T)
    codes = speaker.codec.encode(mel)  # (1, T / 4, K)
    coded = speaker.codec.decode(codes)  # (1, 128, T)
    start = time.perf_counter()
    talked, _ = speaker.speak(item["text"], voice=item["voice"], seed=SEED)
    seconds = time.perf_counter() - start
    waves = {
        "teacher": wave,
        "griffinlim": griffin_lim(mel, seed=SEED)[0],
        "vocoder": refine(speaker.vocoder(mel), mel, REFINE)[0],
        "codec_griffinlim": griffin_lim(coded, seed=SEED)[0],
        "codec_vocoder": refine(speaker.vocoder(coded), coded, REFINE)[0],
    }
    arrays = {name: made.float().numpy() for name, made in waves.items()}
    arrays |= {"talker": talked, "talker_reversed": np.ascontiguousarray(talked[::-1])}
    return Row(item["text"], arrays, codes[0], seconds)


JUDGED = ("teacher", "codec_griffinlim", "codec_vocoder", "talker", "talker_reversed")


def judged(rows: list[Row], workers: int) -> Measured:
    """Word error rates with the open model, and how often the right sentence is chosen."""
    texts = [row.text for row in rows]
    figures: Measured = {}
    for name in JUDGED:
        waves = [row.waves[name] for row in rows]
        said = hear(waves, workers, f"judging {name}")
        chosen = hear(waves, workers, f"choosing {name}", choices=texts)
        for row, truth in against(name, texts).items():
            pairs = [word_errors(t, s) for t, s in zip(truth, said, strict=True)]
            right = [spoken_words(t) == s.split() for t, s in zip(truth, chosen, strict=True)]
            figures[f"{row}/wer"] = error_rate(pairs, SEED)
            figures[f"{row}/closed"] = rate(right, SEED)
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


def fidelity(rows: list[Row]) -> Measured:
    """STOI (0..1, how much is understood) against the teacher's wave, where the timing is its."""
    try:
        from pystoi import stoi
    except ImportError:
        raise UserError("pystoi is missing: pip install -r requirements-dev.txt") from None
    figures: Measured = {}
    for name in ("griffinlim", "vocoder", "codec_griffinlim", "codec_vocoder"):
        scores = [float(stoi(r.waves["teacher"], r.waves[name], SAMPLE_RATE)) for r in rows]
        figures[f"{name}/stoi"] = mean(scores, SEED)
    return figures


def codebooks(speaker: Speaker, rows: list[Row]) -> Measured:
    """How evenly each codebook is used: perplexity, of as many codes as it has."""
    codes = torch.cat([row.codes for row in rows])  # (frames, K)
    size = speaker.codec.config.codebook_size
    figures: Measured = {}
    for k in range(codes.shape[1]):
        counts = torch.bincount(codes[:, k], minlength=size)  # (N,)
        value = float(perplexity(counts))
        figures[f"codebook_{k}/perplexity"] = Figure(value, None, None, len(codes), SEED, "codes")
    return figures


def pace(rows: list[Row]) -> Measured:
    """Speech per computing time, and the Talker's length beside the teacher's."""
    lengths = [len(row.waves["talker"]) / SAMPLE_RATE for row in rows]
    taught = [len(row.waves["teacher"]) / SAMPLE_RATE for row in rows]
    ratios = [made / true for made, true in zip(lengths, taught, strict=True)]
    speeds = [made / row.seconds for made, row in zip(lengths, rows, strict=True)]
    return {
        "talker/times_real_time": mean(speeds, SEED),
        "talker/duration_ratio": mean(ratios, SEED),
    }
