"""Objective of the naming stage: what the glance has to say so that the finished Thinker understands it.

After the joint stage the Thinker reads pictures in a language of its own: tokens of the eyes have
grown to thirty times the length of a word's embedding, and words are no longer read among them.
So each name's vector is learnt against the Thinker, which stays as it is, with everything else:
prompt tuning (arXiv:2104.08691), one vector for each of the 120 names. Lessons are those of the
joint stage about photographs; no photograph is needed.
"""

import random
from pathlib import Path

import torch
from torch import Tensor, nn

from models.omni import OmniModel
from models.tokenizer import Tokenizer
from models.vision import IMAGE_SIZE, IMAGE_TOKENS
from training.objective import Loss, Paths, epoch_order, slice_bounds, to_device
from training.objectives.thinker import next_token_loss
from training.samples import photo_sample

DEV_SEED = "naming-dev"


class NamingTask(nn.Module):
    """The omni-model, of which only the names' vectors learn: forward(batch) -> Loss."""

    def __init__(self, omni: OmniModel):
        super().__init__()
        self.omni = omni.requires_grad_(False)
        omni.glance.words.requires_grad_(True)

    def logits(self, batch: dict[str, Tensor], asked: Tensor) -> Tensor:
        """(n, V) for the n learnt tokens, asked (B, L)."""
        words = self.omni.glance.words[batch["name"]]  # (B, hidden)
        images = words[:, None].expand(-1, IMAGE_TOKENS, -1)  # (B, 49, hidden)
        x = self.omni.thinker.hidden(self.omni.fuse(batch["ids"], images))  # (B, L, hidden)
        return self.omni.thinker.logits(x[asked])

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        asked = batch["targets"] != -100  # (B, L)
        logits, wanted = self.logits(batch, asked), batch["targets"][asked]  # (n, V), (n,)
        right = (logits.argmax(-1) == wanted).sum().detach()
        return Loss(next_token_loss(logits, wanted), wanted.numel(), {"token_accuracy": right})


class NamingObjective:
    """Batches of lessons about each name, how many tokens of unseen ones are right, and saving."""

    def __init__(self, config: dict, paths: Paths):
        omni = OmniModel.from_pretrained(paths.need("omni"))
        self.names = omni.glance.config.names
        self.tokenizer = Tokenizer(paths.need("omni") / "tokenizer.model")
        self.size, self.seed = config["train"]["batch_size"], config["seed"]
        with torch.no_grad():  # as long as the grid tokens of a grey image
            grey = torch.full((1, 3, IMAGE_SIZE, IMAGE_SIZE), 128, dtype=torch.uint8)
            length = omni.vision_projector(omni.vision(grey)).norm(dim=-1).mean()
            omni.glance.words *= length / omni.glance.words.norm(dim=1, keepdim=True)
        self.model = NamingTask(omni)

    def items(self, numbers: list[int], rngs: list[random.Random], split: str) -> dict[str, Tensor]:
        """ids, targets (of the token after each): (B, L); name (B,)."""
        rows = []
        for number, rng in zip(numbers, rngs, strict=True):
            other = rng.choice([name for name in self.names if name != self.names[number]])
            record = {"name": self.names[number], "other": other, "image": b""}
            messages = photo_sample(record, rng, split)["messages"]
            rows.append(self.tokenizer.encode_chat_targets(messages))
        L = max(len(ids) for ids, _ in rows) - 1
        ids = torch.full((len(rows), L), self.tokenizer.pad)  # (B, L)
        targets = torch.full_like(ids, -100)
        for row, (said, mask) in enumerate(rows):
            learnt = [i if m else -100 for i, m in zip(said, mask, strict=True)]
            ids[row, : len(said) - 1] = torch.tensor(said[:-1])
            targets[row, : len(said) - 1] = torch.tensor(learnt[1:])
        return {"ids": ids, "targets": targets, "name": torch.tensor(numbers)}

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        numbers, rngs = [], []
        for place in slice_bounds(self.size, rank, world):
            epoch, at = divmod(step * self.size + place, len(self.names))
            numbers.append(int(epoch_order(self.seed, epoch, len(self.names))[at]))
            rngs.append(random.Random(f"naming-{self.seed}-{step}-{place}"))
        return self.items(numbers, rngs, "train")

    def validate(self) -> dict[str, float]:
        """Share of names of whose replies, in unseen wordings, every token is the greedy choice."""
        numbers = list(range(len(self.names)))
        batch = self.items(numbers, [random.Random(f"{DEV_SEED}-{i}") for i in numbers], "dev")
        batch = to_device(batch, next(self.model.parameters()).device)
        asked = batch["targets"] != -100
        hits = torch.ones_like(asked)
        hits[asked] = self.model.logits(batch, asked).argmax(-1) == batch["targets"][asked]
        return {"names": float(hits.all(1).float().mean())}

    def save(self, folder: Path) -> None:
        """Write the glance, which now speaks the finished Thinker's language."""
        self.model.omni.glance.save_pretrained(folder)


def prepare(config: dict, paths: Paths) -> None:
    """Nothing: the lessons are made from the names."""


def build(config: dict, paths: Paths) -> NamingObjective:
    """The objective of stage `naming`."""
    return NamingObjective(config, paths)
