"""Speaking: the Talker beside its teachers, and the codec on voices it never heard.

Two judges hear every sound: Whisper writes its words, DistilMOS estimates how natural it is. All
speak held-out sentences of ordinary English. Controls: the Talker held against another sentence's
text (shuffled), its sound backwards, and those of codebooks.py. Beside that: questions rise,
long sentences lose no word, words never seen are spelt as spoken, random sentences end.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import torch

from data.progress import progress
from data.speech import sentences as corpus
from data.speech.teachers import SHIPPED
from data.speech.tts import aligned
from evaluation import codebooks
from evaluation.asking import another
from evaluation.hearing import Heard, judged
from evaluation.questions import PAIRS, questions
from evaluation.results import mean
from evaluation.robustness import length_beside_teacher, random_sentences, robust
from evaluation.said import SENTENCES, Said, as_float, people, teachers, texts, unseen
from evaluation.setting import Measured, Setting
from evaluation.unseen_words import unseen_words
from inference.speech import Speaker
from models.mel import SAMPLE_RATE

RANDOM = 200  # sentences of random words
UNSEEN_WORDS = 120  # words never seen
LONG, LONG_WORDS = 10, 80  # sentences of so many words in one breath
BACKWARDS = 30  # sentences of this control


def measure(setting: Setting) -> Measured:
    """Figures of every row."""
    speaker = Speaker.from_pretrained(setting.ckpt_dir)
    workers = setting.workers
    taught = teachers(setting)
    figures = talkers(speaker, setting, taught)
    everyone: list[Heard] = []
    for voice, said in taught.items():
        heard = judged(said, workers, f"{voice}'s teacher")
        figures |= Heard.figures(f"teacher_{voice}", heard)
        everyone += heard
    figures |= Heard.figures("teacher", everyone)
    figures |= carried(speaker, setting)
    figures |= asked(speaker, setting)
    figures |= Heard.figures("long", judged(long_sentences(speaker, setting), workers, "80 words"))
    figures |= unseen_words(speaker, setting, setting.count(UNSEEN_WORDS))
    return figures | endings(speaker, setting)


def talkers(speaker: Speaker, setting: Setting, taught: dict[str, list[Said]]) -> Measured:
    """The Talker's rows: each voice's, all together, both controls, and its pace."""
    figures: Measured = {}
    everything: list[Heard] = []
    first: list[Said] = []
    seconds: list[tuple[float, float, float]] = []
    lengths: list[float] = []
    for (voice, said), chosen in zip(taught.items(), texts(setting).values(), strict=False):
        spoken = [
            say(speaker, text, voice, seconds)
            for text in progress(chosen[: setting.count(SENTENCES)], desc=f"{voice} speaks")
        ]
        heard = judged(spoken, setting.workers, voice)
        figures |= Heard.figures(f"talker_{voice}", heard)
        everything += heard
        first += spoken[: BACKWARDS // len(taught) + 1]
        both = zip(spoken, said, strict=False)
        lengths += [len(made.wave) / len(true.wave) for made, true in both]
    figures |= Heard.figures("talker", everything)
    turned = [Said(s.text, np.ascontiguousarray(s.wave[::-1])) for s in first]
    figures |= Heard.figures("talker_reversed", judged(turned, setting.workers, "backwards"))
    others = [everything[n].text for n in another(len(everything))]
    mixed = [Heard(t, h.transcript, h.mos) for t, h in zip(others, everything, strict=True)]
    figures |= Heard.figures("talker_shuffled", mixed)
    return figures | pace(seconds) | {"talker/duration_ratio": mean(lengths)}


def say(speaker: Speaker, text: str, voice: str, seconds: list) -> Said:
    """One sentence by the Talker; notes (computing, to the first sound, of sound) in seconds."""
    start = time.perf_counter()
    chunks, first = [], 0.0
    for chunk in speaker.speak_stream(text, voice=voice):
        first = first or time.perf_counter() - start
        chunks.append(chunk)
    wave = np.concatenate(chunks)
    seconds.append((time.perf_counter() - start, first, len(wave) / SAMPLE_RATE))
    return Said(text, wave)


def pace(seconds: list[tuple[float, float, float]]) -> Measured:
    """Computing time beside the sound's, and time to the first sound; of a tenth, to warm up, none."""
    warm = seconds[len(seconds) // 10 :]
    return {
        "talker/real_time_factor": mean([took / sound for took, _, sound in warm]),
        "talker/first_sound": mean([1000 * first for _, first, _ in warm], "ms"),
    }


def carried(speaker: Speaker, setting: Setting) -> Measured:
    """People and unseen voices, before and behind the codec; the ladder and its controls."""
    figures: Measured = {}
    sounds: list[Said] = []
    for name, said in (("person", people(setting)), ("unseen", unseen(setting))):
        if said:
            figures |= Heard.figures(name, judged(said, setting.workers, name))
            copies = codebooks.coded(speaker, said)
            heard = judged(copies, setting.workers, f"{name} behind the codec")
            figures |= Heard.figures(f"{name}_coded", heard)
            sounds += said[::2]
    figures |= codebooks.ladder(speaker, sounds, setting.workers)
    figures |= codebooks.controls(speaker, sounds, setting.workers)
    codes = torch.cat([codebooks.encoded(speaker, said.wave)[1] for said in sounds])  # (T, K)
    return figures | codebooks.use(codes, speaker.codec.config.codebook_size)


def asked(speaker: Speaker, setting: Setting) -> Measured:
    """Whether questions rise: the Talker's in turn by each voice, and its teacher's."""
    voices, count = speaker.voices, setting.count(PAIRS)

    def talker(text: str, n: int) -> np.ndarray:
        return speaker.speak(text, voices[n % len(voices)])[0]

    def teacher(text: str, n: int) -> np.ndarray:
        return as_float(aligned.say(text, *SHIPPED[n % len(SHIPPED)].split(":")))

    return questions("talker", talker, count) | questions("teacher", teacher, count)


def long_sentences(speaker: Speaker, setting: Setting) -> list[Said]:
    """Sentences of 80 words and no mark but the last."""
    pool = [t for t in next(iter(texts(setting).values())) if t[-1] == "."]
    found: list[Said] = []
    while len(found) < setting.count(LONG) and pool:
        words: list[str] = []
        while pool and len(words) < LONG_WORDS:
            words += ["and"] * bool(words) + pool.pop().rstrip(".").split()
        text = " ".join(words[:LONG_WORDS]) + "."
        found.append(Said(text, speaker.speak(text)[0]))
    return found


def endings(speaker: Speaker, setting: Setting) -> Measured:
    """Whether random sentences come to their end, by the Talker's first voice."""
    words = corpus.vocabulary(str(setting.real_dir) if setting.real_dir else None)
    drawn = random_sentences(words[: corpus.VOCABULARY], setting.count(RANDOM))
    length = partial(length_beside_teacher, ckpt_dir=setting.ckpt_dir, voice=speaker.voices[0])
    return robust(drawn, length, setting.workers)
