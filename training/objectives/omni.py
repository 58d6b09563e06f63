"""Objective of the omni stage: joint instruction tuning of everything that reads, looks and hears.

Each global batch holds every kind of lesson in fixed shares: pictures with questions, pictures with
spoken questions, clips, transcripts, spoken questions, text conversations, visits (long ones with
pictures and sounds in them) and plain English (so that text ability stays). Only the assistant's words
are learnt, plain English aside. A share of a batch can be choices among readings of a sound
(training/rivals.py): there the words wrong to be expected fall.
"""

import random
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from data.conversation import sample_conversation
from data.corpus import load_tokens
from data.scenes.build import SEEDS, build_clips
from data.shards import ShardReader
from data.talk.beyond import quiz
from data.visits import stretches
from models.audio import AudioEncoder, audio_tokens
from models.checkpoint import load_strict
from models.glance import Glance
from models.omni import OmniModel
from models.projector import Projector
from models.thinker import Thinker
from models.tokenizer import Tokenizer
from models.vision import VisionEncoder
from training.lessons import (
    chat,
    clip_lesson,
    photo_lesson,
    picture_lesson,
    rival_lesson,
    spoken_lesson,
    spoken_picture_lesson,
    transcript_lesson,
)
from training.media import disturb_mel, mask_mel
from training.objective import Loss, Paths, slice_bounds, to_device
from training.objectives.thinker import next_token_loss
from training.packing import pack_lessons, stack_media
from training.rivals import (
    ERROR,
    UNHEARD,
    RivalMaker,
    build_rivals,
    expected_errors,
    read_rivals,
    worth,
)
from training.spoken import whole_lesson
from training.visits import BUDGETS, visit_lesson

CLIP_EVERY = 4  # steps: then the spoken-picture part of the batch is clips (four pictures each)
SIGNS = 0.15  # of the picture lessons: extra pictures with signs, which are hard to read
NEIGHBOURS = 64  # utterances to either side of a length that count as alike
DEV_ITEMS = 64  # of each kind; English has no replies to be right
KINDS = (
    "picture", "photo", "spoken_picture", "clip", "transcript", "spoken", "talk", "visit", "english",
    "choice",
)
QUESTIONS = ("talk_question", "scene_question")  # utterances that are asked
UNASKED = {"english", "choice"}  # kinds that dev has no items of


class OmniTask(nn.Module):
    """The omni-model with its loss: forward(batch) -> Loss, in nats per learnt token."""

    def __init__(self, omni: OmniModel):
        super().__init__()
        self.omni = omni

    def logits(self, batch: dict[str, Tensor], asked: Tensor) -> Tensor:
        """(n, V) for the n learnt tokens, asked (R, L): most of a lesson is not learnt."""
        images = clips = None
        if "pixels" in batch:
            images = self.omni.encode_images(batch["pixels"])  # (N, 49, D)
        if "mel" in batch:
            encoded = self.omni.audio(batch["mel"], batch["lengths"])
            encoded = self.omni.audio_projector(encoded)  # (N, n, D)
            lengths = [audio_tokens(int(frames)) for frames in batch["lengths"]]
            clips = [row[:n] for row, n in zip(encoded, lengths, strict=True)]
            if "again" in batch:  # rivals are of one sound
                clips = [clips[place] for place in batch["again"]]
        x = self.omni.fuse(batch["ids"], images, clips)  # (R, L, D)
        x = self.omni.thinker.hidden(x, packed=batch["packed"])  # (R, L, D)
        return self.omni.thinker.logits(x[asked])

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        targets = batch["targets"]  # (R, L)
        asked = targets != -100
        logits, wanted = self.logits(batch, asked), targets[asked]  # (n, V), (n,)
        logs, choice = {}, torch.zeros(())
        if "errors" in batch:
            rival = batch["rival"][asked]  # (n,)
            choice = self.choice(logits[rival >= 0], wanted[rival >= 0], rival[rival >= 0], batch)
            logits, wanted = logits[rival < 0], wanted[rival < 0]
            logs["errors"] = (choice.detach(), len(batch["errors"]))
        loss = next_token_loss(logits, wanted)
        logs["token_accuracy"] = (logits.argmax(-1) == wanted).sum().detach()
        return Loss(loss + ERROR * choice, wanted.numel(), logs)

    def choice(self, logits: Tensor, wanted: Tensor, rival: Tensor, batch: dict) -> Tensor:
        """Words wrong to be expected, summed over sounds. (n, V), (n,), (n,) which rival's -> ()"""
        nats = F.cross_entropy(logits.float(), wanted, reduction="none")  # (n,)
        said = nats.new_zeros(batch["errors"].numel()).index_add(0, rival, -nats)  # (G * RIVALS,)
        return expected_errors(said.view_as(batch["errors"]), batch["heard"], batch["errors"]).sum()


class OmniObjective:
    """Batches of lessons, exact-answer rates on dev, and saving."""

    def __init__(self, config: dict, paths: Paths):
        tokenizer_path = paths.need("thinker") / "tokenizer.model"
        self.tokenizer = Tokenizer(tokenizer_path)
        self.model = OmniTask(self.assemble(paths, config["data"]["fixed"]))
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        self.shares = config["data"]["shares"]
        self.pattern = sum(self.shares.values())
        self.sequence_length = config["data"]["sequence_length"]
        taught = {kind for kind, share in self.shares.items() if share} - UNASKED
        if "spoken_picture" in taught:
            taught.add("clip")
        if self.model.omni.glance is None:  # its places of a batch go to scenes
            taught.discard("photo")
        self.kinds = [kind for kind in KINDS if kind in taught]
        unknown = set(self.shares) ^ {kind for kind in KINDS if kind != "clip"}
        if unknown or self.size % self.pattern:
            raise ValueError("omni.data.shares must name every kind, its sum divide batch_size")
        self.readers = {}
        for split in ("train", "dev"):
            for name in ("scenes", "clips", "hearing"):
                self.readers[name, split] = ShardReader(paths.data / f"{name}_{split}")
        if "photo" in taught:
            for split in ("train", "dev"):
                self.readers["photos", split] = ShardReader(paths.data / f"photos_{split}")
        if config["data"]["signs"]:
            self.readers["signs", "train"] = ShardReader(paths.data / "signs_train")
        if config["data"]["further"]:
            self.readers["further", "train"] = ShardReader(paths.data / "hearing_further_train")
        if config["data"]["recorded"]:
            self.readers["recorded", "train"] = ShardReader(paths.data / "hearing_real_train")
        for name in config["data"]["more"]:
            self.readers[name, "train"] = ShardReader(paths.data / f"hearing_{name}_train")
        self.speech = ("hearing", "further", "recorded", *config["data"]["more"])
        if self.shares["choice"]:
            self.readers["rivals", "train"] = read_rivals(paths.data / "rivals")
        if config["data"]["misheard"]:
            self.readers["misheard", "train"] = read_rivals(paths.data / "misheard")
        self.noisy = config["data"]["noisy"]
        self.corpus = load_tokens(paths.data / "corpus", "train")
        self.quiz = {split: quiz(paths.real, split) for split in ("train", "dev")}
        self.heard = {split: self.sort_heard(split) for split in ("train", "dev")}

    @property
    def context(self) -> int:
        """Tokens that the Thinker reads at most."""
        return self.model.omni.thinker.config.max_position_embeddings

    @property
    def fixed_shapes(self) -> nn.Module:
        """What is worth compiling: pictures are of one size, and so are rows of lessons."""
        return nn.ModuleList([self.model.omni.vision, self.model.omni.thinker])

    def assemble(self, paths: Paths, fixed: list[str]) -> OmniModel:
        """The trained parts, joined by projectors that already speak the Thinker's language."""
        thinker = Thinker.from_pretrained(paths.need("thinker"))
        vision = VisionEncoder.from_pretrained(paths.need("vision"))
        audio = AudioEncoder.from_pretrained(paths.need("audio"))
        symbols = self.tokenizer.symbols
        ears = Projector.from_pretrained(paths.need("audio") / "projector")
        eyes = Projector.from_pretrained(paths.need("vision") / "projector")
        tokens = symbols["<|image|>"], symbols["<|audio|>"]
        omni = OmniModel(thinker, vision, eyes, audio, ears, *tokens, picture_notes=True)
        if paths.final("glance").is_dir():
            omni.glance = Glance.from_pretrained(paths.final("glance"))
        for part in fixed:  # stays as its own stage left it, which saves the time of its gradient
            if getattr(omni, part) is not None:
                getattr(omni, part).requires_grad_(False)
        return omni

    def init_from(self, folder: Path) -> None:
        """Go on from a joint model that is finished; what is learnt after this stage is left out."""
        begun = OmniModel.from_pretrained(folder)
        begun.finder = begun.expectation = None
        load_strict(self.model.omni, begun.state_dict(), f"--init_from {folder}")

    def sort_heard(self, split: str) -> dict[str, list[tuple[str, int]]]:
        """Which utterances (reader, index) can serve as which lesson, the shortest first."""
        scenes = len(self.readers["scenes", split])
        heard: dict[str, list] = {"transcript": [], "spoken": [], "spoken_picture": [], "choice": []}
        places = [
            (name, i)
            for name in (*self.speech, "rivals", "misheard")
            for i in range(len(self.readers.get((name, split), ())))
        ]
        for place in sorted(places, key=lambda p: self.heard_record(p, split)["seconds"]):
            record = self.heard_record(place, split)
            if "rivals" not in record:
                heard["transcript"].append(place)
            elif worth(record):
                heard["choice"].append(place)
            if record["kind"] == "talk_question":
                heard["spoken"].append(place)
            if record["kind"] == "scene_question" and record["scene"] < scenes:
                heard["spoken_picture"].append(place)
        return heard

    def heard_record(self, place: tuple[str, int], split: str) -> dict:
        """What an utterance says, without its sound."""
        return self.readers[place[0], split].record(place[1])

    def kind_at(self, place: int, step: int) -> str:
        """Which kind of lesson stands at a place of the global batch.

        The batch is the pattern of shares over and over, kinds standing together within it, so
        that processes have equal work and slices have lessons of like length.
        """
        place %= self.pattern
        for kind, share in self.shares.items():
            if place < share:
                if kind == "spoken_picture" and step % CLIP_EVERY == CLIP_EVERY - 1:
                    return "clip"
                return kind if kind in self.kinds or kind in UNASKED else "picture"
            place -= share
        raise IndexError(place)

    def lesson(self, kind: str, rng: random.Random, split: str, length: float) -> dict:
        """One lesson: ids, targets, and the media they refer to.

        `length` in 0..1 is the rank of the utterances to choose from, shortest to longest: those of
        one batch are alike, so that little is padding.
        """
        if kind in ("transcript", "spoken", "spoken_picture"):
            record = self.utterance(kind, rng, split, length)
        if kind == "picture":
            signs = ("signs", split) in self.readers and rng.random() < SIGNS
            scenes = self.readers["signs" if signs else "scenes", split]
            lesson = picture_lesson(scenes[rng.randrange(len(scenes))], rng)
        elif kind == "photo":
            photos = self.readers["photos", split]
            lesson = photo_lesson(photos[rng.randrange(len(photos))], rng, split)
        elif kind == "clip":
            clips = self.readers["clips", split]
            lesson = clip_lesson(clips[rng.randrange(len(clips))], rng)
        elif kind == "transcript":
            lesson = transcript_lesson(record, rng)
        elif kind == "spoken":
            lesson = spoken_lesson(record, rng)
        elif kind == "spoken_picture":
            scene = self.readers["scenes", split][record["scene"]]
            lesson = spoken_picture_lesson(record, scene, rng)
        elif kind == "talk":
            lesson = chat(sample_conversation(rng, split)["messages"])
        elif kind == "visit":
            lesson = self.visit(rng, split, length)
        else:
            start = rng.randrange(len(self.corpus) - self.sequence_length)
            ids = self.corpus[start : start + self.sequence_length].astype(int).tolist()
            return whole_lesson(ids)
        return self.encoded(lesson)

    def utterance(self, kind: str, rng: random.Random, split: str, length: float) -> dict:
        """An utterance for such a lesson, in training disturbed anew; `length` as for a lesson."""
        record = self.draw(kind, rng, split, length)
        if split != "train" or "rivals" in record:  # those are disturbed as they were read
            return record
        chance = np.random.default_rng(rng.randrange(1 << 30))
        mel = disturb_mel(record["mel"], chance, self.noisy)
        return record | {"mel": mask_mel(mel, chance)}

    def visit(self, rng: random.Random, split: str, length: float) -> dict:
        """A long conversation with what is shown and played in it; those of a batch are of like length."""
        names = {"scene": "scenes", "photo": "photos", "clip": "clips"}
        sources = {
            kind: lambda rng, reader=self.readers[name, split]: reader[rng.randrange(len(reader))]
            for kind, name in names.items()
            if (name, split) in self.readers
        }
        for kind, lesson in (("heard", "transcript"), ("asked", "spoken")):
            if not self.heard[split][lesson]:
                continue
            sources[kind] = lambda rng, lesson=lesson: self.utterance(lesson, rng, split, length)
        most = min(BUDGETS[int(length * 1000) % len(BUDGETS)], self.context)
        visit = stretches(rng, split, sources, self.quiz[split])
        return visit_lesson(visit, rng, self.tokens, most)

    def tokens(self, messages: list[dict]) -> int:
        """How many tokens a conversation has."""
        return len(self.tokenizer.encode_chat_targets(messages)[0])

    def encoded(self, lesson: dict) -> dict:
        """A lesson with the ids of its messages, and which of them are learnt."""
        ids, mask = self.tokenizer.encode_chat_targets(lesson["messages"])
        targets = [i if learnt else -100 for i, learnt in zip(ids, mask, strict=True)]
        return lesson | {"ids": ids[: self.context], "targets": targets[: self.context]}

    def draw(self, kind: str, rng: random.Random, split: str, length: float) -> dict:
        """One of the utterances that serve as such a lesson, near a length; see `lesson`."""
        chosen = self.heard[split][kind]
        near = int(length * len(chosen))
        low, high = max(0, near - NEIGHBOURS), min(len(chosen), near + NEIGHBOURS)
        reader, place = chosen[rng.randrange(low, high)]
        return self.readers[reader, split][place]

    def choices(self, rng: random.Random, length: float) -> list[dict]:
        """A sound with each of its rivals; `length` as for a lesson."""
        record = self.draw("choice", rng, "train", length)
        return [
            self.encoded(rival_lesson(record, text)) | {"heard": heard, "errors": float(errors)}
            for text, heard, errors in record["rivals"]
        ]

    def collate(self, lessons: list[dict]) -> dict[str, Tensor]:
        """Lessons packed into rows, and their media in reading order; see training/packing.py."""
        batch, lessons = pack_lessons(lessons, self.tokenizer.pad)
        return batch | stack_media(lessons)

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        lessons = []
        length = random.Random(f"omni-{self.seed}-{step}").random()
        for place in slice_bounds(self.size, rank, world):
            rng = random.Random(f"omni-{self.seed}-{step}-{place}")
            kind = self.kind_at(place, step)
            if kind == "choice":
                lessons += self.choices(rng, length)
            else:
                lessons.append(self.lesson(kind, rng, "train", length))
        return self.collate(lessons)

    def validate(self) -> dict[str, float]:
        """Share of replies whose every token is the greedy choice, by kind of lesson."""
        device = next(self.model.parameters()).device
        figures = {}
        for kind in self.kinds:
            right = count = 0
            for start in range(0, DEV_ITEMS, 16):
                rngs = [random.Random(f"dev-{kind}-{start + i}") for i in range(16)]
                length = start / DEV_ITEMS
                batch = self.collate([self.lesson(kind, rng, "dev", length) for rng in rngs])
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
    """Draw the clips, read the rivals; scenes, speech and text are there from the stages before."""
    data, workers = config["data"], config["workers"]
    for split, seed in SEEDS.items():
        count = data["clips"] if split == "train" else data["held_out"]
        build_clips(paths.data / f"clips_{split}", count, seed, split, data["objects"], workers)
    rivals = data["rivals"] if data["shares"]["choice"] else 0
    heard = tuple(paths.data / f"hearing_{name}_train" for name in data["more"])
    for name, count, kinds in (("rivals", rivals, ()), ("misheard", data["misheard"], QUESTIONS)):
        if not count:
            continue
        ears, words = paths.need("audio"), paths.need("words") / UNHEARD
        make = RivalMaker(ears, words, heard, data["noisy"], config["seed"], kinds)
        build_rivals(paths.data / name, make, count, workers)


def build(config: dict, paths: Paths) -> OmniObjective:
    """The objective of stage `omni`."""
    return OmniObjective(config, paths)
