"""Objective of the audio stage: CTC on letters, so that the ears learn what was said.

A token every 80 ms is slower than people speak letters (about 14 a second), so each token is given
four CTC slots: 50 slots a second. The head is thrown away; the Thinker learns to read the tokens
in the omni stage.

Paper: Connectionist temporal classification, Graves et al. 2006.
"""

import re
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.hearing import build_hearing
from data.shards import ShardReader
from data.words import edit_distance
from models.audio import AudioConfig, AudioEncoder, audio_tokens
from training.media import mask_mel, padded_mels
from training.objective import Loss, Paths, slice_bounds, to_device

LETTERS = " 'abcdefghijklmnopqrstuvwxyz"  # CTC label 0 is the blank, then these
SLOTS = 4  # CTC slots a token
DEV_CLIPS = 96


def spoken_letters(text: str) -> str:
    """Text as the CTC head spells it: lower-case letters, apostrophes and single spaces."""
    return " ".join(re.sub(r"[^a-z' ]", " ", text.lower()).split())


def ctc_slots_needed(letters: str) -> int:
    """Slots that CTC needs: one a letter, and a blank between equal neighbours."""
    return len(letters) + sum(a == b for a, b in zip(letters, letters[1:], strict=False))


def ctc_text(labels: list[int]) -> str:
    """Best path -> letters: merge repeats, drop blanks."""
    kept = [b for a, b in zip([0, *labels], labels, strict=False) if b and a != b]
    return "".join(LETTERS[label - 1] for label in kept)


class AudioTask(nn.Module):
    """The ears with a letter head and the CTC loss."""

    def __init__(self, config: AudioConfig):
        super().__init__()
        self.audio = AudioEncoder(config)
        self.head = nn.Linear(config.hidden_size, SLOTS * (len(LETTERS) + 1))

    def log_probs(self, mel: Tensor, lengths: Tensor) -> Tensor:
        """Log-probabilities of labels. (B, 128, T) -> (B, SLOTS * ceil(T / 8), labels)"""
        x = self.head(self.audio(mel, lengths))  # (B, n, SLOTS * labels)
        return x.unflatten(2, (SLOTS, -1)).flatten(1, 2).float().log_softmax(-1)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        log_probs = self.log_probs(batch["mel"], batch["lengths"])  # (B, S, labels)
        slots = -(-batch["lengths"] // 8) * SLOTS  # (B,)
        loss = F.ctc_loss(
            log_probs.transpose(0, 1),
            batch["labels"],
            slots,
            batch["label_lengths"],
            reduction="sum",  # zero_infinity stays off: clips too short for CTC are left out
        )
        return Loss(loss, batch["label_lengths"].sum())  # nats per letter


class AudioObjective:
    """Batches of clips of like length, dev letter and word error rates, and saving."""

    def __init__(self, config: dict, paths: Paths):
        self.model = AudioTask(AudioConfig(**config["model"]))
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        self.train = ShardReader(paths.data / "hearing_train")
        self.dev = ShardReader(paths.data / "hearing_dev")
        count = min(len(self.train), config["data"]["clips"])
        usable = [i for i in range(count) if self.fits(self.train.record(i))]
        # Batches of like length waste little on padding.
        usable.sort(key=lambda i: self.train.record(i)["seconds"])
        whole = len(usable) // self.size * self.size
        self.groups = np.array(usable[:whole]).reshape(-1, self.size)  # (batches, B)

    @staticmethod
    def fits(record: dict) -> bool:
        """Whether CTC has a slot for every letter."""
        letters = spoken_letters(record["text"])
        slots = SLOTS * audio_tokens(int(record["seconds"] * 100))
        return bool(letters) and ctc_slots_needed(letters) <= slots

    @staticmethod
    def collate(records: list[dict]) -> dict[str, Tensor]:
        mel, lengths = padded_mels([r["mel"] for r in records])
        labels = [[LETTERS.index(c) + 1 for c in spoken_letters(r["text"])] for r in records]
        return {
            "mel": mel,  # (B, 128, T)
            "lengths": lengths,  # (B,)
            "labels": torch.tensor([label for row in labels for label in row]),  # (sum,)
            "label_lengths": torch.tensor([len(row) for row in labels]),  # (B,)
        }

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        epoch, place = divmod(step, len(self.groups))
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.groups))
        group = self.groups[order[place]]
        records = []
        for i in slice_bounds(self.size, rank, world):
            record = self.train[int(group[i])]
            rng = np.random.default_rng([self.seed, step, i])
            records.append(record | {"mel": mask_mel(record["mel"], rng)})
        return self.collate(records)

    def validate(self) -> dict[str, float]:
        """CTC loss a letter, letter and word error rates on unseen voices, best path, no model."""
        device = next(self.model.parameters()).device
        letters = words = letter_errors = word_errors = 0
        usable = [i for i in range(len(self.dev)) if self.fits(self.dev.record(i))][:DEV_CLIPS]
        for start in range(0, len(usable), 32):
            records = [self.dev[i] for i in usable[start : start + 32]]
            batch = to_device(self.collate(records), device)
            best = self.model.log_probs(batch["mel"], batch["lengths"]).argmax(-1)  # (B, S)
            for record, row, length in zip(records, best, batch["lengths"], strict=True):
                true = spoken_letters(record["text"])
                said = ctc_text(row[: SLOTS * audio_tokens(int(length))].tolist())
                letters, words = letters + len(true), words + len(true.split())
                letter_errors += edit_distance(list(true), list(said))
                word_errors += edit_distance(true.split(), said.split())
        return {"cer": letter_errors / letters, "wer": word_errors / words}

    def save(self, folder: Path) -> None:
        self.model.audio.save_pretrained(folder)


def prepare(config: dict, paths: Paths) -> None:
    """Speak the sentences."""
    data = config["data"]
    real = str(paths.real) if paths.real else None
    for split, seed, count in (("train", 1, data["clips"]), ("dev", 2, data["held_out"])):
        folder = paths.data / f"hearing_{split}"
        build_hearing(folder, count, seed, split, config["workers"],
                      text_folder=real, source=data["source"])


def build(config: dict, paths: Paths) -> AudioObjective:
    """The objective of stage `audio`."""
    return AudioObjective(config, paths)
