"""Objective of the talker stage: text front end and Talker, trained together on aligned speech.

The Talker learns codes from the true phones and times; the durations learn those times; the
grapheme-to-phone model learns from the lexicon and from the words of the sentences. What the
Talker hears of its own past is partly wrong or missing in training, so that it leans on the phones
and can live with its own mistakes.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.shards import ShardReader
from data.speech import rising
from data.speech.samples import FOLDER as SAMPLES
from models.alignment import align
from models.codec import MelCodec
from models.frontend import VOICES, Frontend, FrontendConfig
from models.g2p import G2PConfig, can_learn, letters_to_ids
from models.mel import HOP, log_mel
from models.phones import IDS, MARKS, PAD_ID
from models.prosody import ProsodyConfig
from models.talker import Script, Talker, TalkerConfig
from training.objective import Loss, Paths, slice_bounds, to_device
from training.speech import prepare_lexicon, prepare_speech

POOL = 16  # batches drawn together and sorted by length, so that little is padding
WRONG_CODE = 0.10  # share of heard codes replaced by random ones
DEAF_FRAME = 0.15  # share of frames whose past is not heard at all
CODEBOOK_WEIGHTS = (1.0, 0.6, 0.4, 0.3, 0.25, 0.2, 0.2, 0.2)  # the first carries most of what is understood
PROSODY_WEIGHT, G2P_WEIGHT = 2.0, 0.5
WORDS, WORDS_POOL = 128, 4  # words a step for the grapheme-to-phone model, and draws per word
VALIDATION_UTTERANCES = 24  # of each set
Entry = tuple[str, tuple[str, ...]]  # a word and its phones


class Utterances:
    """Aligned utterances as tensors, with their codes; each is computed once and kept.

    Args:
        asked: share of short statements that become questions; the end of questions then rises
            (data/speech/rising.py). None: as the teachers said them.
    """

    def __init__(self, folders: dict[Path, int], codec: MelCodec, asked: float | None = None):
        self.codec, self.asked = codec, asked
        self.readers = [ShardReader(folder) for folder in folders]
        self.picks = [
            (r, i)
            for r, (reader, count) in enumerate(zip(self.readers, folders.values(), strict=True))
            for i in range(min(count, len(reader)))
        ]
        self.records = [self.readers[r].record(i) for r, i in self.picks]
        self.seconds = [record["phones"][-1][2] for record in self.records]
        self.kept: dict[int, dict[str, Tensor]] = {}

    def __len__(self) -> int:
        return len(self.picks)

    def words(self) -> list[Entry]:
        """Every word said, with the phones it was said with, once per time it was said."""
        out = []
        for record in self.records:
            sounds: dict[int, list[str]] = {}
            for phone, _, _, word, _ in record["phones"]:
                if word >= 0:
                    sounds.setdefault(word, []).append(phone)
            out += [(record["words"][w], tuple(phones)) for w, phones in sounds.items()]
        return out

    @torch.no_grad()
    def __getitem__(self, n: int) -> dict[str, Tensor]:
        if n not in self.kept:
            reader, i = self.picks[n]
            item = self.readers[reader][i]
            if self.asked is not None:
                turned = random.Random(f"asked-{n}").random() < self.asked
                item = rising.raised(rising.asked(item) if turned else item)
            wave = torch.from_numpy(item["wave"].astype(np.float32) / 32768.0)
            spare = -len(wave) % (self.codec.config.stack * HOP)  # fill the last code frame with silence
            with torch.autocast("cpu", enabled=False):
                mel = log_mel(F.pad(wave, (0, spare)))
                codes = self.codec.encode(mel[None])[0]  # (T, K)
            self.kept[n] = as_tensors(item) | {
                "codes": codes.to(torch.int16),
            }
        return self.kept[n]

    def gather(self, picks: list[int]) -> dict[str, Tensor]:
        """Utterances padded with zeros to one batch, with how many frames each has."""
        items = [self[n] for n in picks]
        batch = {
            key: nn.utils.rnn.pad_sequence([item[key] for item in items], batch_first=True)
            for key in ("phones", "starts", "marks", "hertz", "seconds", "codes")
        }
        batch["codes"] = batch["codes"].long()
        batch["voice"] = torch.stack([item["voice"] for item in items])
        batch["frames"] = torch.tensor([len(item["codes"]) for item in items])
        return batch


def as_tensors(item: dict) -> dict[str, Tensor]:
    """An aligned utterance's phones with all that is known of each, (P,), and its voice ()."""
    words = [word for *_, word, _ in item["phones"]]
    starts = [w >= 0 and w != before for w, before in zip(words, [-1, *words], strict=False)]
    return {
        "phones": torch.tensor([IDS[phone] for phone, *_ in item["phones"]]),
        "starts": torch.tensor(starts).long(),
        "marks": torch.tensor([MARKS.index(mark) for mark in item["marks"]]),
        "hertz": torch.tensor(item["pitch"]),
        "seconds": torch.tensor([end - start for _, start, end, *_ in item["phones"]]),
        "voice": torch.tensor(voice_number(item["voice"])),
    }


def voice_number(label: str) -> int:
    """Which of VOICES a teacher's label means: "kokoro:bf_emma" is emma."""
    return list(VOICES).index(label.split(":")[-1].split("_")[-1])


def script_of(batch: dict[str, Tensor]) -> Script:
    """What a batch is to say."""
    return Script(*(batch[key] for key in ("phones", "starts", "marks", "hertz", "voice")))


def read_lexicon(path: Path, split: str) -> list[Entry]:
    """(word, phones) of one split of a lexicon file."""
    with path.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [(e["word"], tuple(e["phones"])) for e in lines if e["split"] == split]


def word_batch(words: list[Entry]) -> dict[str, Tensor]:
    """(word, phones) pairs -> padded letter and phone ids."""
    phones = [torch.tensor([IDS[p] for p in sounds]) for _, sounds in words]
    return {
        "letters": letters_to_ids([word for word, _ in words]),
        "sounds": nn.utils.rnn.pad_sequence(phones, batch_first=True),
    }


class TalkerTask(nn.Module):
    """Talker and front end with their losses: forward(batch) -> Loss."""

    def __init__(self, talker: TalkerConfig, frontend: FrontendConfig):
        super().__init__()
        self.talker, self.frontend = Talker(talker), Frontend(frontend)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        phones, codes, frames = batch["phones"], batch["codes"], batch["frames"]
        where = align(batch["seconds"], self.talker.config.frame_seconds, frames)
        heard = self._heard(codes) if self.training else None
        script = script_of(batch)
        logits = self.talker(script, where, codes, heard)
        real = torch.arange(codes.shape[1], device=codes.device) < frames[:, None]  # (B, T)
        logs, weight = {}, float(frames.sum())
        total = codes.new_zeros((), dtype=torch.float32)
        for k, scores in enumerate(logits):
            misses = F.cross_entropy(scores[real].float(), codes[..., k][real], reduction="sum")
            total = total + CODEBOOK_WEIGHTS[k] * misses
            logs[f"code_{k}"] = misses.detach()
        count = float((phones != PAD_ID).sum())
        duration, pitch = self.frontend.prosody.loss(
            phones, script.starts, script.marks, script.voice, batch["seconds"], script.hertz
        )
        total = total + PROSODY_WEIGHT * (duration + pitch) * weight / count
        logs |= {"duration": (duration.detach(), count), "pitch": (pitch.detach(), count)}
        sounds = batch["words"]["sounds"]
        spelling = self.frontend.g2p.loss(batch["words"]["letters"], sounds)
        count = float((sounds != PAD_ID).sum())
        total = total + G2P_WEIGHT * spelling * weight / count
        logs["g2p"] = (spelling.detach(), count)
        return Loss(total, weight, logs)

    def _heard(self, codes: Tensor) -> Tensor:
        """Code vectors of the past (B, T, K·64), some wrong and some missing."""
        wrong = torch.rand(codes.shape, device=codes.device) < WRONG_CODE
        other = torch.randint_like(codes, self.talker.config.codebook_size)
        vectors = self.talker.vectors(torch.where(wrong, other, codes)).flatten(2)
        deaf = torch.rand(codes.shape[:2], device=codes.device) < DEAF_FRAME
        return vectors.masked_fill(deaf[..., None], 0.0)


class TalkerObjective:
    """Batches, loss, validation and saving of the talker stage."""

    def __init__(self, config: dict, paths: Paths):
        codec = MelCodec.from_pretrained(paths.need("codec"))
        sizes = dict(config["model"])
        front = sizes.pop("frontend")
        books = codec.config
        sizes |= {
            "num_voices": len(VOICES),
            "num_codebooks": books.num_codebooks,
            "codebook_size": books.codebook_size,
            "codebook_dim": books.codebook_dim,
        }
        self.model = TalkerTask(TalkerConfig(**sizes), frontend_config(front))
        self.model.talker.set_codebooks(codec.quantizer.codebooks)
        self.seed, self.size = config["seed"], config["train"]["batch_size"]
        speech = config["data"]["speech"]
        asked = config["data"].get("asked")
        train = {paths.data / f"{n}_train": count for n, count in speech.items()}
        self.train = Utterances(train, codec, asked)
        dev = {paths.data / f"{n}_dev": VALIDATION_UTTERANCES for n in speech}
        self.dev = Utterances(dev, codec, asked)
        lexicon = paths.data / "lexicon.jsonl"
        if not lexicon.exists():
            lexicon = SAMPLES / "lexicon.jsonl"
        self.said = [entry for entry in self.train.words() if learnable(*entry)]
        self.lexicon = [entry for entry in read_lexicon(lexicon, "train") if learnable(*entry)]
        held_out = read_lexicon(lexicon, "dev") or self.lexicon
        taught = {word for word, _ in self.said}  # whatever part of the lexicon they are of
        self.unseen = [one for one in held_out if learnable(*one) and one[0] not in taught][:400]

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        """This rank's utterances of similar length, and words to spell."""
        rng = np.random.default_rng((self.seed, step // POOL))
        pool = rng.integers(len(self.train), size=self.size * POOL)
        pool = pool[np.argsort([self.train.seconds[n] for n in pool], kind="stable")]
        turn = int(rng.permutation(POOL)[step % POOL])
        mine = slice_bounds(self.size, rank, world)
        batch = self.train.gather([int(pool[turn * self.size + i]) for i in mine])
        words = self._words(step)
        batch["words"] = word_batch([words[i] for i in slice_bounds(WORDS, rank, world)])
        return batch

    def _words(self, step: int) -> list[Entry]:
        """Words of similar length for this step: a third as they were said, the rest rarer."""
        rng = np.random.default_rng((self.seed, step, 1))
        said, rare = (rng.integers(len(x), size=WORDS_POOL * WORDS) for x in (self.said, self.lexicon))
        pool = [
            self.said[said[i]] if i % 3 == 0 else self.lexicon[rare[i]]
            for i in range(WORDS_POOL * WORDS)
        ]
        pool.sort(key=lambda entry: len(entry[0]))
        turn = int(rng.integers(WORDS_POOL))
        return pool[turn * WORDS : (turn + 1) * WORDS]

    def validate(self) -> dict[str, float]:
        """Loss per code, the same with the phones shuffled, durations, spelling of unseen words."""
        model = self.model
        batch = self.dev.gather(list(range(len(self.dev))))
        batch["words"] = word_batch(self.unseen[:64])
        batch = to_device(batch, next(model.parameters()).device)
        figures = mean_losses(model, batch)
        order = torch.randperm(
            batch["phones"].shape[1], generator=torch.Generator().manual_seed(0)
        ).to(batch["phones"].device)
        shuffled = batch | {"phones": batch["phones"][:, order]}
        figures["shuffled_code_0"] = mean_losses(model, shuffled)["code_0"]
        made = model.frontend.g2p.phones([word for word, _ in self.unseen])
        right = [m == [IDS[p] for p in t] for m, (_, t) in zip(made, self.unseen, strict=True)]
        figures["words_right"] = sum(right) / len(right)
        return figures

    def save(self, folder: Path) -> None:
        """Write the Talker, and the front end in a folder of its own beside it."""
        self.model.talker.save_pretrained(folder)
        self.model.frontend.save_pretrained(folder / "frontend")


def learnable(word: str, phones: tuple[str, ...]) -> bool:
    """Whether the grapheme-to-phone model can learn this entry."""
    return can_learn(word, [IDS[p] for p in phones])


def frontend_config(sizes: dict) -> FrontendConfig:
    """The front end's config from the preset's `frontend` sizes."""
    g2p = G2PConfig(
        hidden_size=sizes["hidden_size"],
        num_heads=sizes["num_heads"],
        intermediate_size=sizes["intermediate_size"],
    )
    prosody = ProsodyConfig(hidden_size=sizes["prosody_size"], num_voices=len(VOICES))
    return FrontendConfig(voices=dict(VOICES), g2p=vars(g2p), prosody=vars(prosody))


def mean_losses(model: TalkerTask, batch: dict) -> dict[str, float]:
    """Losses per frame, phone and spelled phone."""
    loss = model(batch)
    return {
        name: float(value[0]) / value[1] if isinstance(value, tuple) else float(value) / loss.weight
        for name, value in loss.logs.items()
    }


def prepare(config: dict, paths: Paths) -> None:
    """Make the speech and the lexicon this stage learns from."""
    prepare_speech(config, paths)
    prepare_lexicon(config, paths)


build = TalkerObjective
