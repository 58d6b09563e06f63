"""Word error rate of transcripts: unseen sentences in unseen voices, quiet and noisy.

Controls: another clip's sound (the transcript must not fit), the Thinker's transcript without CTC,
hybrid decoding without the n-gram language model, and pocketsphinx on the same waveforms. Recorded
speech of held-out speakers is measured where the real data is there, and long sentences of books in
natural voices that no stage heard where Kokoro's weights are.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data.shards import ShardReader, generate
from data.speech import sentences
from data.speech.asr_corpus import HearingMaker, build_hearing, dequantise_mel, mel_of
from data.speech.asr_recorded import PEAK, build_real_hearing, kind_of, recordings, texts
from data.speech.augment import set_peak
from data.speech.tts import aligned, kokoro
from data.speech.voices import KOKORO_HELD_OUT
from evaluation.asking import Asker, another, user_turn
from evaluation.judge import hear
from evaluation.results import Figure, error_rate, grouped_error_rate, rate, together
from evaluation.setting import SEED, Measured, Setting
from evaluation.words import letter_errors, word_errors
from models.ctc import to_alphabet
from models.omni import TRANSCRIBE_QUESTION

CLIPS = 600  # of each set
SPHINX = 100  # clips that pocketsphinx hears too: it takes seconds for each
KNOWN_PEOPLE = {"festival:cmu_us_slt_arctic_hts"}  # voices of people whom training heard by another engine
NOISE_DB = 10.0  # signal to noise of the noisy set
NATURAL, NATURAL_WORDS = 100, range(12, 26)  # long natural sentences, and how long they are


def measure(setting: Setting) -> Measured:
    """Figures by set, by voice and by kind of text."""
    omni = setting.omni("hearing")
    asker, n = Asker(omni), setting.count(CLIPS)
    quiet = records(heard(setting), n)
    figures = transcribe(asker, quiet, "quiet")
    alone = transcripts(Asker(omni, ctc_weight=0.0), quiet, "transcripts, the Thinker alone")
    figures["quiet/without_ctc"] = error_rate(compared(quiet, alone))
    if (ngram := omni.model.ngram) is not None:
        omni.model.ngram = None
        said = transcripts(asker, quiet, "transcripts without the n-gram model")
        omni.model.ngram = ngram
        figures["quiet/without_ngram"] = error_rate(compared(quiet, said))
    few = [maker(setting).wave(i) for i in range(setting.count(SPHINX))]
    figures |= sphinx(asker, few, setting, "quiet")
    figures |= transcribe(asker, records(heard(setting, NOISE_DB), n), "noisy")
    if kokoro.available():
        figures |= transcribe(asker, natural(setting), "natural")
    return figures | (measure_recorded(asker, setting, n) if setting.real_dir else {})


def measure_recorded(asker: Asker, setting: Setting, n: int) -> Measured:
    """Held-out people: read sentences, beside pocketsphinx, and single words."""
    folder = setting.data_dir / "hearing_real_test"
    if not folder.exists():
        build_real_hearing(folder, setting.real_dir, "test")
    taught = set(map(to_alphabet, texts(setting.real_dir, "train")))
    new = [r for r in records(ShardReader(folder), n, ("sentence",)) if to_alphabet(r["text"]) not in taught]
    figures = transcribe(asker, new, "recorded")
    read = [
        ({"text": one.text}, set_peak(one.wave, PEAK)) for one in recordings(setting.real_dir, "test")
        if kind_of(one) == "sentence" and to_alphabet(one.text) not in taught
    ]
    few = random.Random(SEED).sample(read, min(setting.count(SPHINX), len(read)))  # of every speaker
    figures |= sphinx(asker, few, setting, "recorded")
    words = records(ShardReader(folder), n, ("word", "digits"))
    said = transcripts(asker, words, "commands")
    right = [errors == 0 for errors, _ in compared(words, said)]
    digits = [good for good, word in zip(right, words, strict=True) if word["kind"] == "digits"]
    return figures | {"commands/right": rate(right)} | ({"commands/digits": rate(digits)} if digits else {})


@dataclass(frozen=True)
class NaturalMaker:
    """Long sentence number `index` of a book, in an unseen voice of Kokoro; a record and its mel."""

    texts: tuple[str, ...]

    def __call__(self, index: int) -> tuple[dict, dict[str, np.ndarray]]:
        voices = KOKORO_HELD_OUT["test"]
        label, text = voices[index % len(voices)], self.texts[index]
        wave = aligned.say(text, *label.split(":")).astype(np.float32) / 32768
        record = {"text": text, "voice": label, "corpus": "synthetic", "kind": "sentence"}
        return record, {"mel": mel_of(set_peak(wave, PEAK))}


def natural(setting: Setting) -> list[dict]:
    """Records of the long sentences, made when they are missing."""
    folder, real = setting.data_dir / "hearing_natural", setting.real_dir
    long = [
        text for text in sentences.read("test", str(real) if real else None)
        if len(text.split()) in NATURAL_WORDS
    ]
    random.Random(f"natural-{SEED}").shuffle(long)
    count = min(setting.count(NATURAL), len(long))
    make = NaturalMaker(tuple(long[:NATURAL]))
    generate(folder, make, count, 20, setting.workers, "long natural sentences")
    return records(ShardReader(folder), count)


def records(clips: ShardReader, count: int, kinds: tuple[str, ...] = ()) -> list[dict]:
    """The first clips, or the first of some kinds."""
    places = [i for i in range(len(clips)) if not kinds or clips.record(i)["kind"] in kinds]
    return [clips[i] for i in places[:count]]


def maker(setting: Setting, snr_db: float | None = None) -> HearingMaker:
    """What makes utterance i of the test set."""
    folder = str(setting.real_dir) if setting.real_dir else None
    return HearingMaker(SEED, "test", folder, snr_db)


def heard(setting: Setting, snr_db: float | None = None, clips: int = CLIPS) -> ShardReader:
    """The test set, made when it is missing; a larger one says the same first, in the same voices.

    To the sample it is another: espeak-ng's sounds differ by milliseconds from call to call.
    """
    name = "hearing_test" if snr_db is None else "hearing_test_noisy"
    if clips != CLIPS:
        name += f"_{clips}"
    make = maker(setting, snr_db)
    folder: Path = setting.data_dir / name
    build_hearing(
        folder, clips, make.seed, make.split, setting.workers,
        text_folder=make.folder, snr_db=snr_db, shard_size=100,
    )
    return ShardReader(folder)


def transcripts(asker: Asker, records: list[dict], desc: str) -> list[str]:
    """What the model says it heard."""
    mels = [dequantise_mel(record["mel"]) for record in records]
    return asker.ask([user_turn(TRANSCRIBE_QUESTION, mels=[mel]) for mel in mels], desc)


def compared(records: list[dict], said: list[str]) -> list[tuple[int, int]]:
    """(errors, words of the truth) of each transcript."""
    return [word_errors(record["text"], s) for record, s in zip(records, said, strict=True)]


def transcribe(asker: Asker, records: list[dict], name: str) -> Measured:
    """Word and letter error rates of one set, in all and by voice, corpus and kind of text.

    Recordings of a speaker hang together; a synthetic voice is one of few, and none of chance.
    """
    said = transcripts(asker, records, f"transcripts, {name}")
    truth = [record["text"] for record in records]
    pairs = compared(records, said)
    letters = [letter_errors(t, s) for t, s in zip(truth, said, strict=True)]
    wrong = [word_errors(t, said[i]) for t, i in zip(truth, another(len(said)), strict=True)]
    figures = {
        f"{name}/wer": by_speaker(records, pairs),
        f"{name}/cer": by_speaker(records, letters),
        f"{name}/shuffled": by_speaker(records, wrong),
    }
    groups: dict[str, list] = defaultdict(list)
    for record, pair in zip(records, pairs, strict=True):
        made = record["corpus"] == "synthetic"
        who = record["voice"] if made else record["corpus"]
        groups[f"{name}/voice/{who}"].append(pair)
        groups[f"{name}/kind/{record['kind']}"].append(pair)
        if made and record["voice"] not in KNOWN_PEOPLE:
            groups[f"{name}/new_voices"].append(pair)
    return figures | {key: error_rate(groups[key]) for key in sorted(groups)}


def by_speaker(records: list[dict], pairs: list[tuple[int, int]]) -> Figure:
    """The error rate; recordings of one person hang together."""
    who = [i if one["corpus"] == "synthetic" else one["voice"] for i, one in enumerate(records)]
    return grouped_error_rate(together(pairs, who))


def sphinx(asker: Asker, made: list[tuple[dict, np.ndarray]], setting: Setting, name: str) -> Measured:
    """pocketsphinx, with its own language model, on some waveforms of a set; ours on the same."""
    records = [record for record, _ in made]
    said = hear([wave for _, wave in made], setting.workers, desc="pocketsphinx")
    turns = [user_turn(TRANSCRIBE_QUESTION, mels=[dequantise_mel(mel_of(wave))]) for _, wave in made]
    ours = asker.ask(turns, f"pocketsphinx's clips, {name}")
    return {
        f"{name}/pocketsphinx": error_rate(compared(records, said)),
        f"{name}/beside_pocketsphinx": error_rate(compared(records, ours)),
    }
