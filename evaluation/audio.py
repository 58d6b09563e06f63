"""Hearing: word error rate of transcripts, unseen sentences in unseen voices, quiet and noisy.

Controls: another clip's sound (the transcript must not fit), and pocketsphinx on the same
waveforms. Recorded speech of held-out speakers is measured where the real data is there.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import torch

from data.hearing import HearingMaker, build_hearing, dequantise_mel
from data.recorded import build_real_hearing
from data.shards import ShardReader
from evaluation.asking import Asker, another
from evaluation.judge import hear
from evaluation.results import error_rate
from evaluation.setting import SEED, Measured, Setting
from evaluation.words import letter_errors, word_errors
from inference.omni import TRANSCRIBE_QUESTION, Omni

CLIPS = 600  # of each set
SPHINX = 100  # clips that pocketsphinx hears too: it takes seconds for each
NOISE_DB = 10.0  # signal to noise of the noisy set


def measure(setting: Setting) -> Measured:
    """Figures by set, by voice and by kind of text."""
    asker = Asker(Omni.from_pretrained(setting.ckpt_dir))
    n = setting.count(CLIPS)
    figures = transcribe(asker, heard(setting), n, "quiet")
    figures |= sphinx(setting, setting.count(SPHINX))
    figures |= transcribe(asker, heard(setting, NOISE_DB), n, "noisy")
    if setting.real_dir:
        recorded = setting.data_dir / "hearing_real_test"
        if not recorded.exists():
            build_real_hearing(recorded, setting.real_dir, "test", limit=CLIPS)
        figures |= transcribe(asker, ShardReader(recorded), n, "recorded")
    return figures


def maker(setting: Setting, snr_db: float | None = None) -> HearingMaker:
    """What makes utterance i of the test set."""
    folder = str(setting.real_dir) if setting.real_dir else None
    return HearingMaker(SEED, "test", folder, snr_db)


def heard(setting: Setting, snr_db: float | None = None) -> ShardReader:
    """The test set, made when it is missing."""
    name = "hearing_test" if snr_db is None else "hearing_test_noisy"
    make = maker(setting, snr_db)
    folder: Path = setting.data_dir / name
    threads = torch.get_num_threads()
    build_hearing(
        folder, CLIPS, make.seed, make.split, setting.workers,
        text_folder=make.folder, snr_db=snr_db, shard_size=100,
    )
    torch.set_num_threads(threads)  # making speech leaves one
    return ShardReader(folder)


def transcripts(asker: Asker, records: list[dict], desc: str) -> list[str]:
    """What the model says it heard."""
    mels = [dequantise_mel(record["mel"]) for record in records]
    prompts = [asker.prompt(TRANSCRIBE_QUESTION, mels=[mel]) for mel in mels]
    return asker.answers(prompts, desc)


def transcribe(asker: Asker, clips: ShardReader, count: int, name: str) -> Measured:
    """Word and letter error rates of one set, in all and by voice, corpus and kind of text."""
    records = [clips[i] for i in range(min(count, len(clips)))]
    said = transcripts(asker, records, f"hearing, {name}")
    truth = [record["text"] for record in records]
    pairs = [word_errors(t, s) for t, s in zip(truth, said, strict=True)]
    letters = [letter_errors(t, s) for t, s in zip(truth, said, strict=True)]
    wrong = [word_errors(t, said[i]) for t, i in zip(truth, another(len(said)), strict=True)]
    figures = {
        f"{name}/wer": error_rate(pairs, SEED),
        f"{name}/cer": error_rate(letters, SEED),
        f"{name}/shuffled": error_rate(wrong, SEED),
    }
    groups: dict[str, list] = defaultdict(list)
    for record, pair in zip(records, pairs, strict=True):
        who = record["voice"] if record["corpus"] == "synthetic" else record["corpus"]
        groups[f"{name}/voice/{who}"].append(pair)
        groups[f"{name}/kind/{record['kind']}"].append(pair)
    return figures | {key: error_rate(groups[key], SEED) for key in sorted(groups)}


def sphinx(setting: Setting, count: int) -> Measured:
    """pocketsphinx, with its own language model, on the first clips of the quiet set."""
    made = [maker(setting).wave(i) for i in range(count)]
    said = hear([wave for _, wave in made], setting.workers, desc="pocketsphinx")
    pairs = [word_errors(record["text"], s) for (record, _), s in zip(made, said, strict=True)]
    return {"quiet/pocketsphinx": error_rate(pairs, SEED)}
