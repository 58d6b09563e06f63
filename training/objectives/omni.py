"""Objective of the omni stage: joint instruction tuning of the Thinker and the projectors.

Each global batch holds every kind of sample in fixed shares (KINDS). Pictures, photographs, clips,
sounds and statements come with questions; some are told in words. Dialogues are short and typed, or
long with pictures and sounds in them. Stretches of the Thinker's own token stream ("english") keep
text ability. Learnt are the assistant's words, of what is told those that decide, of the stream all.
"""

import random
from pathlib import Path

import torch
from torch import Tensor, nn

from data.corpus import load_tokens
from data.dialogue.conversation import sample_conversation
from data.dialogue.out_of_scope import quiz
from data.in_words import HARDER, MORE, in_words
from data.interleaved import segments
from data.scenes.build import SEEDS, build_pictures
from data.scenes.first_tries import unseen
from data.scenes.styles import for_training
from data.speech.statement_corpus import build_questions, build_statements
from data.turns import RATIONALE
from models.audio import AudioEncoder, audio_tokens
from models.checkpoint import load_strict, read_json, write_json
from models.errors import UserError
from models.omni import OmniModel
from models.projector import Projector
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from models.vision import VisionEncoder
from training.interleaved import BUDGETS, dialogue_sample
from training.objective import Loss, Paths, slice_bounds, to_device
from training.objectives.thinker import next_token_loss
from training.packing import pack_samples, stack_media
from training.records import QUIZ, SPLITS, Records
from training.remembered import Remembered
from training.samples import (
    ALOUD,
    VOICED,
    chat,
    clip_sample,
    photo_sample,
    picture_sample,
    several_sample,
    spoken_picture_sample,
    spoken_sample,
    statement_sample,
    text_sample,
    transcript_sample,
)

STATEMENT_SEEDS = {"train": 61, "dev": 62}
QUESTION_SEEDS = {"train": 63, "dev": 64}  # of spoken questions about statements
UNSEEN = 0.02  # of the talk asks for the colour or the shape of what is not shown
DEV_ITEMS = 64  # of each kind; the token stream has no replies to be right
KINDS = (
    "picture", "photo", "clip", "several", "spoken_picture", "transcript", "spoken", "statement",
    "told", "talk", "english", "interleaved",
)


class OmniTask(nn.Module):
    """The omni-model with its loss: forward(batch) -> Loss, in nats per learnt token."""

    def __init__(self, omni: OmniModel, fixed: list[str]):
        super().__init__()
        self.omni = omni
        for name, parameter in omni.named_parameters():
            parameter.requires_grad_(not name.startswith(tuple(fixed)))
        learns = any(parameter.requires_grad for parameter in omni.vision.parameters())
        self.remembered = None if learns else Remembered(omni.vision)

    def train(self, mode: bool = True) -> "OmniTask":
        """As nn.Module; batch norms keep the statistics of the vision stage."""
        super().train(mode)
        self.omni.vision.resnet.eval()
        return self

    def logits(self, batch: dict[str, Tensor], asked: Tensor) -> Tensor:
        """(n, V) for the n learnt tokens, asked (R, L): most of a sample is not learnt."""
        images = clips = None
        if "images" in batch:
            images = self.omni.vision_projector(self.remembered(batch["images"]))  # (N, 50, D)
        elif "pixels" in batch:
            images = self.omni.encode_images(batch["pixels"])  # (N, 50, D)
        if "mel" in batch:
            encoded = self.omni.audio(batch["mel"], batch["lengths"])
            encoded = self.omni.audio_projector(encoded)  # (N, n, D)
            lengths = [audio_tokens(int(frames)) for frames in batch["lengths"]]
            clips = [row[:n] for row, n in zip(encoded, lengths, strict=True)]
        x = self.omni.fuse(batch["ids"], images, clips)  # (R, L, D)
        x = self.omni.thinker.hidden(x, packed=batch["packed"])  # (R, L, D)
        return self.omni.thinker.logits(x[asked])

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        targets = batch["targets"]  # (R, L)
        asked = targets != -100
        logits, wanted = self.logits(batch, asked), targets[asked]  # (n, V), (n,)
        right = (logits.argmax(-1) == wanted).sum().detach()
        return Loss(next_token_loss(logits, wanted), wanted.numel(), {"token_accuracy": right})


class OmniObjective:
    """Batches of samples, exact-answer rates on dev, and saving."""

    fixed_shapes = "omni.thinker"  # rows have few lengths; the number of pictures differs every time

    def __init__(self, config: dict, paths: Paths):
        tokenizer_path = paths.need("thinker") / "tokenizer.model"
        self.tokenizer = Tokenizer(tokenizer_path)
        self.model = OmniTask(self.assemble(paths), config["data"]["fixed"])
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        shares = config["data"]["shares"]
        self.sequence_length = config["data"]["sequence_length"]
        self.dialogues = tuple(config["data"].get("kinds", ()))  # a smaller world's; else all
        self.objects = config["data"]["objects"]
        if set(shares) != set(KINDS) or self.size % sum(shares.values()):
            raise UserError("omni.data.shares must name every kind, and its sum divide batch_size")
        photos = (paths.data / "photos_train").is_dir()  # else scenes have their places of a batch
        kinds = {kind: "picture" if kind == "photo" and not photos else kind for kind in shares}
        pattern = [kinds[kind] for kind, share in shares.items() for _ in range(share)]
        self.pattern = pattern[::2] + pattern[1::2]  # halves alike: two processes share the work evenly
        self.kinds = [kind for kind in KINDS if kind in self.pattern and kind != "english"]
        self.records = Records(config["data"], paths, set(self.kinds))
        self.corpus = load_tokens(paths.data / "corpus", "train")
        kept = paths.data / QUIZ
        self.quiz = read_json(kept) if kept.exists() else {split: [] for split in SPLITS}

    @property
    def context(self) -> int:
        """Tokens that the Thinker reads at most."""
        return self.model.omni.thinker.config.max_position_embeddings

    def assemble(self, paths: Paths) -> OmniModel:
        """The trained parts, joined by projectors that already speak the Thinker's language."""
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        vision = VisionEncoder.from_pretrained(paths.need("vision"))
        audio = AudioEncoder.from_pretrained(paths.need("audio"))
        symbols = self.tokenizer.symbols
        from_audio = Projector.from_pretrained(paths.need("audio") / "projector")
        from_vision = Projector.from_pretrained(paths.need("vision") / "projector")
        tokens = symbols["<|image|>"], symbols["<|audio|>"]
        return OmniModel(thinker, vision, from_vision, audio, from_audio, *tokens)

    def init_from(self, folder: Path) -> None:
        """Begin with the weights of a finished omni-model."""
        begun = OmniModel.from_pretrained(folder)
        load_strict(self.model.omni, begun.state_dict(), f"--init_from {folder}")

    def sample(self, kind: str, rng: random.Random, split: str, length: float) -> dict:
        """One sample: ids, targets, and the media they refer to.

        `length` in 0..1 is the rank of the utterances to choose from, shortest to longest: those of
        one batch are alike, so that little is padding.
        """
        records = self.records
        if kind == "picture":
            sample = picture_sample(records.picture(rng, split), rng)
        elif kind == "photo":
            sample = photo_sample(records.any("photos", rng, split), rng, split)
        elif kind == "clip":
            voiced = "statement" in self.kinds and rng.random() < VOICED
            voice = records.voice(rng, split) if voiced else ()
            sample = clip_sample(records.any("clips", rng, split), rng, *voice)
        elif kind == "several":
            sample = several_sample(records.any("several", rng, split), rng)
        elif kind == "transcript":
            sample = transcript_sample(records.utterance(kind, rng, split, length), rng)
        elif kind == "spoken":
            sample = spoken_sample(records.utterance(kind, rng, split, length), rng)
        elif kind == "statement":
            ask = records.asked_aloud if rng.random() < ALOUD else records.statements
            sample = statement_sample(rng, *ask(rng, split))
        elif kind == "spoken_picture":
            asked = records.utterance(kind, rng, split, length)
            sample = spoken_picture_sample(asked, records.scene_of(asked, split), rng)
        elif kind == "told":
            return self.answers_alone(chat(in_words(rng, split, self.objects, HARDER, MORE)))
        elif kind == "talk":
            if self.records.tried and rng.random() < UNSEEN:
                return self.encoded(chat(unseen(rng, split)))
            sample = chat(sample_conversation(rng, split, self.dialogues)["messages"])
        elif kind == "interleaved":
            sample = self.dialogue(rng, split, length)
        else:
            start = rng.randrange(len(self.corpus) - self.sequence_length)
            ids = self.corpus[start : start + self.sequence_length].astype(int).tolist()
            return text_sample(ids)
        return self.encoded(sample)

    def dialogue(self, rng: random.Random, split: str, length: float) -> dict:
        """A long conversation with what is shown and played in it; those of a batch are of like length."""
        most = min(BUDGETS[int(length * 1000) % len(BUDGETS)], self.context)
        dialogue = segments(rng, split, self.records.sources(split, length), self.quiz[split])
        return dialogue_sample(dialogue, rng, self.tokens, most)

    def tokens(self, messages: list[dict]) -> int:
        """How many tokens a conversation has."""
        return len(self.tokenizer.encode_chat_targets(messages)[0])

    def encoded(self, sample: dict) -> dict:
        """A sample with the ids of its messages, and which of them are learnt."""
        ids, mask = self.tokenizer.encode_chat_targets(sample["messages"])
        targets = [i if learnt else -100 for i, learnt in zip(ids, mask, strict=True)]
        return sample | {"ids": ids[: self.context], "targets": targets[: self.context]}

    def answers_alone(self, sample: dict) -> dict:
        """`encoded`, but what thinking tells is given: no image is there that it could be read from."""
        sample = self.encoded(sample)
        ids, tokenizer = sample["ids"], self.tokenizer
        if tokenizer.think_end not in ids:
            return sample
        begin, given = ids.index(tokenizer.think), ids.index(tokenizer.think_end) + 1
        rationale = tokenizer.encode(RATIONALE)[0]
        if rationale in ids[begin:given]:
            given = ids.index(rationale, begin) - 1  # the line's end before it is learnt, too
        return sample | {"targets": [-100] * given + sample["targets"][given:]}

    def collate(self, samples: list[dict]) -> dict[str, Tensor]:
        """Samples packed into rows, and their media in reading order; see training/packing.py."""
        batch, samples = pack_samples(samples, self.tokenizer.pad)
        return batch | stack_media(samples, encoded=self.model.remembered is not None)

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        """A slice of the pattern of shares, over and over: kinds stand together within its halves, so
        that slices have samples of like length."""
        samples = []
        length = random.Random(f"omni-{self.seed}-{step}").random()
        for place in slice_bounds(self.size, rank, world):
            rng = random.Random(f"omni-{self.seed}-{step}-{place}")
            samples.append(self.sample(self.pattern[place % len(self.pattern)], rng, "train", length))
        return self.collate(samples)

    def validate(self) -> dict[str, float]:
        """Share of replies whose every token is the greedy choice, by kind of sample."""
        device = next(self.model.parameters()).device
        figures = {}
        for kind in self.kinds:
            right = count = 0
            for start in range(0, DEV_ITEMS, 16):
                rngs = [random.Random(f"dev-{kind}-{start + i}") for i in range(16)]
                length = start / DEV_ITEMS
                batch = self.collate([self.sample(kind, rng, "dev", length) for rng in rngs])
                batch = to_device(batch, device)
                targets = batch["targets"]
                asked = targets != -100
                hits = asked.clone()
                hits[asked] = self.model.logits(batch, asked).argmax(-1) == targets[asked]
                right += sum(replies_right(row, t) for row, t in zip(hits, targets, strict=True))
                count += sum(replies(t) for t in targets)
            figures[kind] = right / count
        return figures

    def save(self, folder: Path) -> None:
        self.model.omni.save_pretrained(folder)
        (folder / "tokenizer.model").write_bytes(self.tokenizer.path.read_bytes())


def reply_starts(targets: Tensor) -> Tensor:
    """True where a reply begins. (S,) -> (S,)"""
    learnt = targets != -100
    before = torch.cat([learnt.new_zeros(1), learnt[:-1]])
    return learnt & ~before


def replies(targets: Tensor) -> int:
    """How many replies a row holds."""
    return int(reply_starts(targets).sum())


def replies_right(hits: Tensor, targets: Tensor) -> int:
    """How many replies of a row are right in every token. hits, targets (S,)"""
    number = reply_starts(targets).long().cumsum(0)  # which reply a token belongs to
    wrong = number[(targets != -100) & ~hits].unique()
    return replies(targets) - len(wrong)


def prepare(config: dict, paths: Paths) -> None:
    """Draw clips and sets of pictures, say statements; the rest is there from the stages before."""
    data, workers = config["data"], config["workers"]
    drawn = {"objects": data["objects"], "workers": workers, "styles": for_training(data)}
    for split in SPLITS:
        for what in ("clips", "several"):
            count = data[what] if split == "train" else min(data["held_out"], data[what])
            build_pictures(paths.data / f"{what}_{split}", count, SEEDS[split], split, what, **drawn)
    if data["statements"]:
        for split, seed in STATEMENT_SEEDS.items():
            count = data["statements"] if split == "train" else data["held_out"]
            folder = paths.data / f"statements_{split}"
            build_statements(folder, count, seed, split, workers)
            asked = paths.data / f"statement_questions_{split}"
            build_questions(asked, folder, count, QUESTION_SEEDS[split], split, workers)
    if paths.real is not None and not (paths.data / QUIZ).exists():
        write_json(paths.data / QUIZ, {split: quiz(paths.real, split) for split in SPLITS})


build = OmniObjective
