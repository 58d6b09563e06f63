"""Objective of the audio stage: hear letters, and say them in the Thinker's words.

Two heads listen to the same tokens. The first is the ears' own, which spells letters by CTC.
The second is the projector into the Thinker, scored against the Thinker's own (fixed) embeddings:
the token in which the last letter of a piece of text is heard is to look like the piece, the others
like a blank. So when the two parts meet in the omni stage, sound already reads like spaced-out text;
from answers alone that had not emerged (docs/lab-notebook.md).

When a letter is heard is read off the first head's best alignment. CTC alone for the pieces had put
a whole sentence into the first third of its clip, one piece a token: nothing in CTC ties a label to
its time, and an encoder that sees the whole clip need not keep it.

Begun from a joint checkpoint (--init_from), the ears are in use already: a Thinker has learnt to read
them. Pieces are then left to the joint stage, and what the ears say of a clip is held near what they
said of it before, undisturbed: new voices are to sound like the old ones, not like something new.
Of voices they are new to (data `more`) nothing is held: what was said of those may have been wrong.

Each clip is heard twice in a batch, disturbed in two ways, and each time the ears learn to say what they
said the other time as well. Letters come out less sure of themselves where they should be, which
is what a table of words can put right (models/readings.py).

Papers: Connectionist temporal classification, Graves et al. 2006; CR-CTC, arXiv:2410.05101; holding on
to what was learnt is learning without forgetting, arXiv:1606.09282.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torchaudio.functional import forced_align

from data.shards import ShardReader
from data.speech.asr_corpus import build_hearing
from data.speech.asr_recorded import build_real_hearing
from data.speech.edit_distance import edit_distance
from models.audio import AudioConfig, AudioEncoder, audio_tokens, within
from models.errors import UserError
from models.letters import LETTERS, SLOTS, spoken_letters
from models.projector import Projector, ProjectorConfig
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from training.media import disturb_mel, hurry_mel, mask_mel, padded_mels
from training.objective import (
    Loss,
    Paths,
    epoch_order,
    likeness_scale,
    slice_bounds,
    to_device,
)

RIVALS = 1024  # pieces that a batch is scored against: its own, and others by lot (time)
HEARD_AT = 2.0  # nats per letter: pieces of text count as letters come to be heard, fully one below
PIECE_WEIGHT = 0.3  # of the pieces' loss, beside 1 of the letters': its gradient is the larger
BLANK_WEIGHT = 0.3  # of a token with no piece, beside 1 of one with a piece: most have none
KEEP_WEIGHT = 0.5  # of a token's squared distance from what it was, in shares of its length squared
VIEWS = 2  # ways in which a clip is disturbed in one batch
TEMPO = 0.75, 1.4  # how fast a clip may be said, of its own speed
AGREE_WEIGHT = 0.2  # of what one view's letters are from the other's, beside 1 of the letters' loss
DEV_CLIPS = 96
FURTHER_SEED = 5  # other sentences than the first set's (1), dev's (2) and the tests' (3)
# Lists of data/speech/voices.py to go on with.
MORE_SEEDS = {"neural": 6, "throats": 7, "heart": 9, "fresh": 10, "accents": 11}


def ctc_slots_needed(labels: Sequence) -> int:
    """Slots that CTC needs: one a label, and a blank between equal neighbours."""
    return len(labels) + sum(a == b for a, b in zip(labels, labels[1:], strict=False))


def ctc_labels(path: list[int]) -> list[int]:
    """A path -> its labels: merge repeats, drop blanks (0)."""
    return [b for a, b in zip([0, *path], path, strict=False) if b and a != b]


def piece_ends(tokenizer: Tokenizer, pieces: list[int]) -> list[int]:
    """How many spoken letters have been said at the end of each piece."""
    return [len(spoken_letters(tokenizer.decode(pieces[: k + 1]))) for k in range(len(pieces))]


def piece_places(said: list[int], ends: list[int], tokens: int) -> list[int]:
    """The token that each piece belongs to: where its last letter is heard, one piece a token.

    `said` holds the token of each letter, `ends` each piece's letters so far.
    """
    places: list[int] = []
    for k, end in enumerate(ends):
        last = tokens - (len(ends) - k)  # leaves room for those to come
        after = places[-1] + 1 if places else 0
        places.append(min(last, max(after, said[max(0, end - 1)])))
    return places


class AudioTask(nn.Module):
    """The ears with their letters, the projector into the Thinker, and a loss for each.

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
        self.before: tuple[AudioEncoder, ...] = ()  # the ears as they were, no part of the module
        self.said: dict[tuple[int, int], Tensor] = {}  # of each batch: 50 KB a clip of four seconds

    def pieces(self, encoded: Tensor, rivals: Tensor | None = None) -> Tensor:
        """Log-probabilities of the Thinker's pieces, or of some. (B, n, D) -> (B, n, V or rivals)"""
        words = self.words if rivals is None else self.words[rivals]
        x = self.projector(encoded) @ words.T  # (B, n, V)
        return (x.float() * self.scale).log_softmax(-1)

    def draw_rivals(self, pieces: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Ids, the blank first and the batch's own among them, and each row's places in them."""
        own = torch.cat([*pieces, pieces[0].new_zeros(1)]).unique()  # sorted: the blank is first
        others = torch.ones(len(self.words), dtype=torch.bool)
        others[own] = False
        others = others.nonzero().flatten()  # (V - own,)
        count = max(0, min(RIVALS, len(self.words)) - len(own))
        others = others[torch.randperm(len(others))[:count]]
        places = [torch.searchsorted(own, row) for row in pieces]
        return torch.cat([own, others.to(own.device)]), places

    def piece_loss(self, encoded: Tensor, letters: Tensor, batch: dict) -> Tensor:
        """Summed cross-entropy of the tokens' pieces. (B, n, D), (B, SLOTS * n, labels) -> ()"""
        rivals, labels = self.draw_rivals(batch["pieces"])
        wanted = torch.zeros(encoded.shape[:2], dtype=torch.long)  # (B, n): blanks
        for row, tokens in enumerate(audio_tokens(batch["lengths"]).tolist()):
            spelling = batch["letters"][row]  # (letters,)
            heard = letters[row : row + 1, : SLOTS * tokens].detach().float().cpu()
            path = forced_align(heard, spelling[None].cpu())[0][0]  # (SLOTS * n,)
            fresh = (path > 0) & (path != F.pad(path, (1, 0))[:-1])  # where a letter begins
            said = (fresh.nonzero().flatten() // SLOTS).tolist()
            places = piece_places(said, batch["ends"][row], tokens)
            wanted[row, places] = labels[row].cpu()
            wanted[row, tokens:] = -100
        wanted = wanted.flatten().to(encoded.device)  # (B * n,)
        scores = self.pieces(encoded, rivals).flatten(0, 1)  # (B * n, rivals)
        loss = F.nll_loss(scores, wanted, reduction="none")  # 0 beyond a clip's end
        return (loss * torch.where(wanted == 0, BLANK_WEIGHT, 1.0)).sum()

    def kept(self, encoded: Tensor, batch: dict) -> Tensor:
        """How far the tokens of `held` clips have gone from what they were, summed. (B, n, D) -> ()"""
        if batch["group"] not in self.said:  # the same clips come together again in every epoch
            before = self.before[0].to(encoded.device)  # no part of the module, so it is not moved with it
            with torch.no_grad():
                plain, lengths = batch["plain"], batch["lengths"][: len(batch["plain"])]
                self.said[batch["group"]] = before(plain, lengths).float()
        was = self.said[batch["group"]]  # (clips, n, D)
        was = was.repeat(len(encoded) // len(was), 1, 1)  # (B, n, D): the same of each view
        far = (encoded.float() - was).square().sum(2) / was.square().sum(2)  # (B, n)
        far = far * batch["held"][:, None]  # (B, n)
        return far[within(audio_tokens(batch["lengths"]), far.shape[1])].sum()

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        encoded = self.audio(batch["mel"], batch["lengths"])  # (B, n, D)
        tokens = audio_tokens(batch["lengths"])  # (B,)
        spelt = self.audio.letters(encoded)  # (B, SLOTS * n, labels)
        letters = ctc_loss(spelt, tokens * SLOTS, batch["letters"])
        weight = sum(len(row) for row in batch["letters"])  # nats per letter
        apart = disagreement(spelt, tokens * SLOTS)
        total = letters + AGREE_WEIGHT * apart
        logs = {"letters": letters.detach(), "apart": apart.detach()}
        if self.before:
            kept = self.kept(encoded, batch) if "held" in batch else torch.zeros(())
            return Loss(total + KEEP_WEIGHT * kept, weight, logs | {"kept": kept.detach()})
        pieces = self.piece_loss(encoded, spelt, batch)
        heard = (HEARD_AT - letters.detach() / weight).clamp(0.0, 1.0)
        return Loss(total + PIECE_WEIGHT * heard * pieces, weight, logs | {"pieces": pieces.detach()})


def ctc_loss(log_probs: Tensor, lengths: Tensor, labels: list[Tensor]) -> Tensor:
    """Summed CTC loss. log_probs (B, S, labels), lengths (B,), labels: B rows"""
    return F.ctc_loss(
        log_probs.transpose(0, 1),
        torch.cat(labels),
        lengths,
        torch.tensor([len(row) for row in labels]),
        reduction="sum",  # zero_infinity stays off: clips too short for CTC are left out
    )


def disagreement(log_probs: Tensor, lengths: Tensor) -> Tensor:
    """How far each view's letters are from the other's, summed over slots. (B, S, labels), (B,) -> ()

    The first half of the rows are clips, the second the same clips disturbed otherwise. Kullback-Leibler
    divergences from what the other says, which is taken as it is.
    """
    first, second = log_probs.detach().chunk(VIEWS)
    other = torch.cat([second, first])  # (B, S, labels)
    apart = F.kl_div(log_probs, other, reduction="none", log_target=True).sum(2)  # (B, S)
    return apart[within(lengths, apart.shape[1])].sum()


class AudioObjective:
    """Batches of clips of like length, dev letter and word error rates, and saving."""

    def __init__(self, config: dict, paths: Paths):
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        self.tokenizer = Tokenizer(paths.need("thinker") / "tokenizer.model")
        words = thinker.model.embed_tokens.weight.detach().float()  # (V, hidden)
        self.model = AudioTask(AudioConfig(**config["model"]), words)
        self.size, self.seed = max(1, config["train"]["batch_size"] // VIEWS), config["seed"]  # clips
        spoken = ShardReader(paths.data / "hearing_train")
        self.dev = ShardReader(paths.data / "hearing_dev")
        parts = [(spoken, i) for i in range(min(len(spoken), config["data"]["clips"]))]
        if config["data"]["further"]:
            further = ShardReader(paths.data / "hearing_further_train")
            parts += [(further, i) for i in range(min(len(further), config["data"]["further"]))]
        if config["data"]["recorded"]:
            recorded = ShardReader(paths.data / "hearing_real_train")
            parts += [(recorded, i) for i in range(len(recorded))]
        self.noisy, self.masked = config["data"]["noisy"], config["data"]["masked"]
        self.tempo = config["data"]["tempo"]
        self.unheld = []  # readers of voices that are new to the ears gone on with
        for name, (made, times) in config["data"]["more"].items():
            reader = ShardReader(paths.data / f"hearing_{name}_train")
            parts += [(reader, i) for i in range(min(len(reader), made)) for _ in range(times)]
            self.unheld.append(reader)
        usable = [part for part in parts if self.fits(part[0].record(part[1]))]
        # Batches of like length waste little on padding.
        usable.sort(key=lambda part: part[0].record(part[1])["seconds"])
        whole = len(usable) // self.size * self.size
        self.groups = [usable[i : i + self.size] for i in range(0, whole, self.size)]

    def init_from(self, folder: Path) -> None:
        """Go on from a checkpoint's ears, or from these grown deeper, and hold on to what they say."""
        ears = AudioEncoder.from_pretrained(folder, "audio")
        if ears.config != self.model.audio.config:
            raise UserError(f"--init_from {folder}: its ears have other sizes")
        self.model.audio.grow_from(ears)
        projector = Projector.from_pretrained(folder, "audio_projector")
        self.model.projector.load_state_dict(projector.state_dict())
        self.model.projector.requires_grad_(False)
        self.model.before = (ears.requires_grad_(False),)

    def fits(self, record: dict, rate: float = 1.0) -> bool:
        """Whether CTC has a slot for every letter and every piece, said `rate` times as fast."""
        letters, pieces = spoken_letters(record["text"]), self.tokenizer.encode(record["text"])
        tokens = audio_tokens(int(record["seconds"] * 100 / rate)) - 1  # the mel may be a frame shorter
        fits = ctc_slots_needed(letters) <= SLOTS * tokens and ctc_slots_needed(pieces) <= tokens
        return bool(letters) and fits

    def collate(self, records: list[dict]) -> dict[str, Tensor | list[Tensor]]:
        mel, lengths = padded_mels([r["mel"] for r in records])
        letters = [[LETTERS.index(c) + 1 for c in spoken_letters(r["text"])] for r in records]
        pieces = [self.tokenizer.encode(r["text"]) for r in records]  # B rows
        return {
            "mel": mel,  # (B, 128, T)
            "lengths": lengths,  # (B,)
            "letters": [torch.tensor(row) for row in letters],  # B rows of labels
            "pieces": [torch.tensor(row) for row in pieces],
            "ends": [piece_ends(self.tokenizer, row) for row in pieces],
        }

    def rate(self, number: int) -> float:
        """How fast group `number` is said: all of its clips alike, so that they stay of like length.

        Its own speed, too, where CTC would have too few slots for the one drawn.
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
        slots, rate = slice_bounds(self.size, rank, world), self.rate(number)
        records = [reader[place] for reader, place in (group[i] for i in slots)]
        records = [record | {"mel": hurry_mel(record["mel"], rate)} for record in records]
        views = []
        for view in range(VIEWS):
            for i, record in zip(slots, records, strict=True):
                rng = np.random.default_rng([self.seed, step, i, view])
                mel = disturb_mel(record["mel"], rng, self.noisy)
                views.append(record | {"mel": mask_mel(mel, rng, self.masked)})
        batch = self.collate(views)
        if self.model.before and rate == 1.0:
            batch["group"] = (number, rank)  # the same clips whenever it comes again
            if batch["group"] not in self.model.said:  # undisturbed: (clips, 128, T)
                batch["plain"], _ = padded_mels([record["mel"] for record in records])
            held = [float(group[i][0] not in self.unheld) for i in slots]
            batch["held"] = torch.tensor(held * VIEWS)  # (B,) 1: what was said of it is held on to
        return batch

    def validate(self) -> dict[str, float]:
        """Error rates on unseen voices by the best path of each head; no language model."""
        device = next(self.model.parameters()).device
        letters, words, errors = 0, 0, {"letters_cer": 0, "letters_wer": 0, "pieces_wer": 0}
        usable = [i for i in range(len(self.dev)) if self.fits(self.dev.record(i))][:DEV_CLIPS]
        for start in range(0, len(usable), 32):
            records = [self.dev[i] for i in usable[start : start + 32]]
            batch = to_device(self.collate(records), device)
            encoded = self.model.audio(batch["mel"], batch["lengths"])  # (B, n, D)
            spelt = self.model.audio.letters(encoded).argmax(-1).unflatten(1, (-1, SLOTS))
            paths = zip(spelt, self.model.pieces(encoded).argmax(-1), strict=True)
            for record, (spelling, pieces) in zip(records, paths, strict=True):
                true = spoken_letters(record["text"])
                n = audio_tokens(record["mel"].shape[1])
                said = ctc_labels(spelling[:n].flatten().tolist())
                said = "".join(LETTERS[label - 1] for label in said)
                read = self.tokenizer.decode(ctc_labels(pieces[:n].tolist()))
                letters, words = letters + len(true), words + len(true.split())
                errors["letters_cer"] += edit_distance(list(true), list(said))
                errors["letters_wer"] += edit_distance(true.split(), said.split())
                errors["pieces_wer"] += edit_distance(true.split(), spoken_letters(read).split())
        return {k: n / (letters if k.endswith("cer") else words) for k, n in errors.items()}

    def save(self, folder: Path) -> None:
        self.model.audio.save_pretrained(folder)
        self.model.projector.save_pretrained(folder / "projector")


def prepare(config: dict, paths: Paths) -> None:
    """Speak the sentences."""
    data = config["data"]
    real = str(paths.real) if paths.real else None
    for split, seed, count in (("train", 1, data["clips"]), ("dev", 2, data["held_out"])):
        folder = paths.data / f"hearing_{split}"
        build_hearing(
            folder, count, seed, split, config["workers"], text_folder=real, source=data["source"]
        )
    if data["further"]:
        build_hearing(
            paths.data / "hearing_further_train", data["further"], FURTHER_SEED, "train",
            config["workers"], text_folder=real, source=data["source"], voices="further",
        )
    for name, (made, _) in data["more"].items():
        build_hearing(
            paths.data / f"hearing_{name}_train", made, MORE_SEEDS[name], "train",
            config["workers"], text_folder=real, source=data["source"], shard_size=100, voices=name,
        )
    if data["recorded"]:
        if real is None:
            raise UserError(
                "audio.data.recorded needs real speech: give --real_dir, "
                "or --set audio.data.recorded=false"
            )
        for split in ("train", "dev", "test"):
            folder = paths.data / f"hearing_real_{split}"
            if not sorted(folder.glob("shard-*.jsonl")):
                build_real_hearing(folder, real, split)


def build(config: dict, paths: Paths) -> AudioObjective:
    """The objective of stage `audio`."""
    return AudioObjective(config, paths)
