"""Objective of the audio stage: CTC on letters, and the Thinker's tokens at their own time.

Two heads are trained on the same encoder output. The first is the encoder's CTC head. The second is the
projector into the Thinker, scored against the Thinker's own (fixed) embeddings: the audio token in which
a text token's last letter is heard is to look like that token, the others like a blank. So when the two
parts meet in the omni stage, sound already reads like spaced-out text.

Where a letter is heard is read off the CTC head by forced alignment. CTC alone for the Thinker's tokens
had put a whole sentence into the first third of its clip: nothing in CTC ties a label to its time, and
an encoder that attends to the whole clip need not keep it.

Each clip is in a batch twice, augmented in two ways, and each copy is also trained towards what the other
says (CR-CTC). That leaves the CTC head unsure where it should be, which the n-gram model can put right.

Papers: Connectionist temporal classification, Graves et al. 2006; CR-CTC, arXiv:2410.05101.
"""

import shutil
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torchaudio.functional import edit_distance, forced_align

from data.shards import ShardReader
from data.speech.asr_corpus import build_hearing, try_engines
from data.speech.asr_recorded import build_real_hearing
from data.speech.word_samples import PAIRS, WORDS
from models.audio import AudioConfig, AudioEncoder, audio_tokens
from models.ctc import ALPHABET, CTC_FRAMES, to_alphabet
from models.errors import UserError
from models.mel import FRAME_RATE
from models.ngram_lm import FILE
from models.projector import Projector, ProjectorConfig
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.augmentation import augment_mel, change_tempo, mask_mel
from training.ctc import (
    ctc_frames_needed,
    ctc_labels,
    ctc_loss,
    disagreement,
    token_ends,
    token_places,
)
from training.media import padded_mels
from training.ngram_lm import RECORDED, build_ngrams, lines
from training.objective import Loss, Paths, epoch_order, likeness_scale, slice_bounds, to_device

CANDIDATES = 1024  # text tokens that a batch is scored against: its own, and others drawn (sampled softmax)
TOKENS_FROM = 2.0  # nats per letter of CTC loss: text tokens begin to count there, fully one below
TOKEN_WEIGHT = 0.3  # of the text tokens' loss, beside 1 of CTC's: its gradient is the larger
BLANK_WEIGHT = 0.3  # of an audio token with no text token, beside 1 of one with: most have none
VIEWS = 2  # augmentations of a clip in one batch
TEMPO = 0.75, 1.4  # range of the tempo augmentation, in shares of a clip's own speed
CONSISTENCY_WEIGHT = 0.2  # of the divergence between two views, beside 1 of CTC's loss
DEV_CLIPS = 96
# Seeds of the clips by list of voices (data/speech/voices.py): not dev's (2) or the tests' (3).
SEEDS = {"engines": 1, "kokoro": 6, "variants": 7, "hibari": 9, "accents": 11}
DEV_SEED = 2


def clips_folder(paths: Paths, voices: str) -> Path:
    """Where the training clips of a list of voices lie."""
    return paths.data / f"speech_{voices}_train"


class AudioTask(nn.Module):
    """The audio encoder with its CTC head, the projector into the Thinker, and a loss for each.

    Args:
        words: the Thinker's embeddings (V, hidden), which stay as they are. Id 0, which no text
            holds, is the blank.
    """

    def __init__(self, config: AudioConfig, words: Tensor):
        super().__init__()
        self.audio = AudioEncoder(config)
        self.projector = Projector(ProjectorConfig(config.hidden_size, words.shape[1]))
        lengths = words.norm(dim=1, keepdim=True)  # (V, 1)
        words = torch.cat([words[:1] / lengths[:1] * lengths.mean(), words[1:]])  # a usual blank
        self.register_buffer("words", words, persistent=False)
        self.scale = likeness_scale(words)

    def text_tokens(self, encoded: Tensor, candidates: Tensor | None = None) -> Tensor:
        """Log-probabilities of the Thinker's tokens, or of some. (B, n, D) -> (B, n, V or candidates)"""
        words = self.words if candidates is None else self.words[candidates]
        x = self.projector(encoded) @ words.T  # (B, n, V)
        return (x.float() * self.scale).log_softmax(-1)

    def draw_candidates(self, pieces: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Ids, the blank first and the batch's own among them, and each row's places in them."""
        own = torch.cat([*pieces, pieces[0].new_zeros(1)]).unique()  # sorted: the blank is first
        others = torch.ones(len(self.words), dtype=torch.bool)
        others[own] = False
        others = others.nonzero().flatten()  # (V - own,)
        count = max(0, min(CANDIDATES, len(self.words)) - len(own))
        others = others[torch.randperm(len(others))[:count]]
        places = [torch.searchsorted(own, row) for row in pieces]
        return torch.cat([own, others.to(own.device)]), places

    def token_loss(self, encoded: Tensor, ctc: Tensor, batch: dict) -> Tensor:
        """Summed cross-entropy of the text tokens. (B, n, D), (B, CTC_FRAMES * n, labels) -> ()"""
        candidates, labels = self.draw_candidates(batch["text_tokens"])
        wanted = torch.zeros(encoded.shape[:2], dtype=torch.long)  # (B, n): blanks
        for row, tokens in enumerate(audio_tokens(batch["lengths"]).tolist()):
            spelling = batch["letters"][row]  # (letters,)
            heard = ctc[row : row + 1, : CTC_FRAMES * tokens].detach().float().cpu()
            path = forced_align(heard, spelling[None].cpu())[0][0]  # (CTC_FRAMES * n,)
            fresh = (path > 0) & (path != F.pad(path, (1, 0))[:-1])  # where a letter begins
            said = (fresh.nonzero().flatten() // CTC_FRAMES).tolist()
            places = token_places(said, batch["ends"][row], tokens)
            wanted[row, places] = labels[row].cpu()
            wanted[row, tokens:] = -100
        wanted = wanted.flatten().to(encoded.device)  # (B * n,)
        scores = self.text_tokens(encoded, candidates).flatten(0, 1)  # (B * n, candidates)
        loss = F.nll_loss(scores, wanted, reduction="none")  # 0 beyond a clip's end
        return (loss * torch.where(wanted == 0, BLANK_WEIGHT, 1.0)).sum()

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        encoded = self.audio(batch["mel"], batch["lengths"])  # (B, n, D)
        tokens = audio_tokens(batch["lengths"])  # (B,)
        log_probs = self.audio.ctc_log_probs(encoded)  # (B, CTC_FRAMES * n, labels)
        ctc = ctc_loss(log_probs, tokens * CTC_FRAMES, batch["letters"])
        weight = sum(len(row) for row in batch["letters"])  # letters: the loss is in nats per letter
        consistency = disagreement(log_probs, tokens * CTC_FRAMES)
        text = self.token_loss(encoded, log_probs, batch)
        share = (TOKENS_FROM - ctc.detach() / weight).clamp(0.0, 1.0)
        total = ctc + CONSISTENCY_WEIGHT * consistency + TOKEN_WEIGHT * share * text
        logs = {"ctc": ctc.detach(), "consistency": consistency.detach(), "text_tokens": text.detach()}
        return Loss(total, weight, logs)


def even_groups(seconds: list[float], size: int) -> list[range]:
    """Clips, shortest first, in groups that last about as long as `size` average ones, padding counted.

    Equal numbers would make one step a second of single digits and the next one two minutes of
    sentences. A group has at least half of `size`; what is left of the longest clips is in none.
    """
    budget, groups, start = size * sum(seconds) / max(1, len(seconds)), [], 0
    for stop, longest in enumerate(seconds[1:] + seconds[-1:], 1):  # were one clip more taken
        if stop - start >= size / 2 and (stop - start + 1) * longest > budget:
            groups.append(range(start, stop))
            start = stop
    return groups


class AudioObjective:
    """Batches of clips of like length, letter and word error rates on dev, and saving."""

    def __init__(self, config: dict, paths: Paths):
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        self.tokenizer = Tokenizer(paths.need("thinker") / "tokenizer.model")
        words = thinker.model.embed_tokens.weight.detach().float()  # (V, hidden)
        self.model = AudioTask(AudioConfig(**config["model"]), words)
        size = max(1, config["train"]["batch_size"] // VIEWS)  # clips of a batch, on average
        self.seed = config["seed"]
        self.dev = ShardReader(paths.data / "hearing_dev")
        self.ngrams = paths.data / FILE
        usable, times = [], config["data"].get("times", {})
        lists = {name: clips_folder(paths, name) for name in config["data"]["clips"]}
        if config["data"]["recorded"]:
            lists["recorded"] = paths.data / "hearing_real_train"
        if unknown := times.keys() - lists.keys() - {"recorded"}:
            raise UserError(f"audio.data.times has {', '.join(unknown)}, not of {', '.join(lists)}")
        for name, folder in lists.items():
            reader = ShardReader(folder)
            count = min(len(reader), config["data"]["clips"].get(name, len(reader)))
            clips = [(reader, i) for i in range(count) if self.fits(reader.record(i))]
            usable += clips * times.get(name, 1)
        self.noisy, self.masked = config["data"]["noisy"], config["data"]["masked"]
        self.tempo = config["data"]["tempo"]
        # Clips of like length waste little on padding.
        usable.sort(key=lambda part: part[0].record(part[1])["seconds"])
        lasts = [part[0].record(part[1])["seconds"] for part in usable]
        self.groups = [[usable[i] for i in group] for group in even_groups(lasts, size)]

    def init_from(self, folder: Path) -> None:
        """Begin with a checkpoint's audio encoder and projector."""
        encoder = AudioEncoder.from_pretrained(folder, "audio")
        if encoder.config != self.model.audio.config:
            raise UserError(f"--init_from {folder}: its audio encoder has other sizes")
        self.model.audio.load_state_dict(encoder.state_dict())
        projector = Projector.from_pretrained(folder, "audio_projector")
        self.model.projector.load_state_dict(projector.state_dict())

    def fits(self, record: dict, rate: float = 1.0) -> bool:
        """Whether CTC has a frame for every letter and text token, said `rate` times as fast."""
        letters, ids = to_alphabet(record["text"]), self.tokenizer.encode(record["text"])
        tokens = audio_tokens(int(record["seconds"] * FRAME_RATE / rate)) - 1  # the mel may be shorter
        fits = ctc_frames_needed(letters) <= CTC_FRAMES * tokens and ctc_frames_needed(ids) <= tokens
        return bool(letters) and fits

    def collate(self, records: list[dict]) -> dict[str, Tensor | list[Tensor]]:
        mel, lengths = padded_mels([r["mel"] for r in records])
        letters = [[ALPHABET.index(c) + 1 for c in to_alphabet(r["text"])] for r in records]
        ids = [self.tokenizer.encode(r["text"]) for r in records]  # B rows
        return {
            "mel": mel,  # (B, 128, T)
            "lengths": lengths,  # (B,)
            "letters": [torch.tensor(row) for row in letters],  # B rows of labels
            "text_tokens": [torch.tensor(row) for row in ids],
            "ends": [token_ends(self.tokenizer, row) for row in ids],
        }

    def rate(self, number: int) -> float:
        """How fast group `number` is said: all of its clips alike, so that they stay of like length.

        The same in every epoch, and its own speed where CTC would have too few frames at the one drawn.
        """
        rng = np.random.default_rng([self.seed, number])
        if rng.random() >= self.tempo:
            return 1.0
        rate = float(np.exp(rng.uniform(*np.log(TEMPO))))
        fits = all(self.fits(reader.record(place), rate) for reader, place in self.groups[number])
        return rate if fits else 1.0

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        epoch, place = divmod(step, len(self.groups))
        number = int(epoch_order(self.seed, epoch, len(self.groups))[place])
        group = self.groups[number]
        slots, rate = slice_bounds(len(group), rank, world), self.rate(number)
        records = [reader[place] for reader, place in (group[i] for i in slots)]
        records = [record | {"mel": change_tempo(record["mel"], rate)} for record in records]
        views = []
        for view in range(VIEWS):
            for i, record in zip(slots, records, strict=True):
                rng = np.random.default_rng([self.seed, step, i, view])
                mel = augment_mel(record["mel"], rng, self.noisy)
                views.append(record | {"mel": mask_mel(mel, rng, self.masked)})
        return self.collate(views)

    def validate(self) -> dict[str, float]:
        """Error rates on unseen voices by the best path of each head; no language model."""
        device = next(self.model.parameters()).device
        letters, words, errors = 0, 0, {"ctc_cer": 0, "ctc_wer": 0, "text_tokens_wer": 0}
        usable = [i for i in range(len(self.dev)) if self.fits(self.dev.record(i))][:DEV_CLIPS]
        for start in range(0, len(usable), 32):
            records = [self.dev[i] for i in usable[start : start + 32]]
            batch = to_device(self.collate(records), device)
            encoded = self.model.audio(batch["mel"], batch["lengths"])  # (B, n, D)
            best = self.model.audio.ctc_log_probs(encoded).argmax(-1).unflatten(1, (-1, CTC_FRAMES))
            paths = zip(best, self.model.text_tokens(encoded).argmax(-1), strict=True)
            for record, (path, ids) in zip(records, paths, strict=True):
                true = to_alphabet(record["text"])
                n = audio_tokens(record["mel"].shape[1])
                said = ctc_labels(path[:n].flatten().tolist())
                said = "".join(ALPHABET[label - 1] for label in said)
                read = self.tokenizer.decode(ctc_labels(ids[:n].tolist()))
                letters, words = letters + len(true), words + len(true.split())
                errors["ctc_cer"] += edit_distance(list(true), list(said))
                errors["ctc_wer"] += edit_distance(true.split(), said.split())
                errors["text_tokens_wer"] += edit_distance(true.split(), to_alphabet(read).split())
        return {k: n / (letters if k.endswith("cer") else words) for k, n in errors.items()}

    def save(self, folder: Path) -> None:
        self.model.audio.save_pretrained(folder)
        self.model.projector.save_pretrained(folder / "projector")
        shutil.copy(self.ngrams, folder / FILE)


def prepare(config: dict, paths: Paths) -> None:
    """Synthesise the clips, read the recordings, count the n-grams."""
    data = config["data"]
    real = str(paths.real) if paths.real else None
    if data["recorded"] and real is None:
        raise UserError(
            "audio.data.recorded needs real speech: give --real_dir, or --set audio.data.recorded=false"
        )
    for voices in data["clips"] if data["source"] == "engines" else ():
        try_engines(voices)  # before the first list is made: that takes half an hour
    options = {"text_folder": real, "source": data["source"]}
    build_hearing(
        paths.data / "hearing_dev", data["held_out"], DEV_SEED, "dev", config["workers"], **options
    )
    for voices, count in data["clips"].items():
        build_hearing(
            clips_folder(paths, voices), count, SEEDS[voices], "train", config["workers"],
            voices=voices, shard_size=100 if voices == "kokoro" else 1000, **options,  # Kokoro is slow
        )
    if data["recorded"]:
        for split in ("train", "dev", "test"):
            folder = paths.data / f"hearing_real_{split}"
            if not sorted(folder.glob("shard-*.jsonl")):
                build_real_hearing(folder, real, split)
    if not (paths.data / FILE).exists():
        if data["source"] == "words":
            spoken = map(to_alphabet, WORDS + PAIRS)
        else:
            spoken = lines(paths.real, data["ngram"], paths.data / RECORDED)
        build_ngrams(data["ngram"], spoken, paths.data / FILE)


build = AudioObjective
