"""What the Thinker expects people to say: how likely it finds a line of text by itself.

The table of words knows two words of context, the Thinker the whole line. So it judges the readings of a
sound beside the table (models/readings.py). To know what people say it must have learnt their lines, and
a Thinker so small forgets for them what it could do. So its matrices stay as they are, and what the lines
change in them stands beside: a product of two thin matrices each, which is added where lines are judged.

Paper: LoRA, arXiv:2106.09685.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from models.checkpoint import Pretrained, thinned
from models.quantization import ternary
from models.thinker import Thinker
from models.tokenizer import BOS, EOS, PAD, Tokenizer


@dataclass
class ExpectationConfig:
    """Sizes of what is added to a Thinker, each outputs and inputs."""

    layers: int = 6
    matrices: dict[str, list[int]] = field(default_factory=dict)  # of a layer
    words: list[int] = field(default_factory=list)  # its embeddings


def rounded(weight: Tensor) -> Tensor:
    """A matrix of three values a row; gradients pass as if nothing were rounded. (outputs, inputs)"""
    codes, step = ternary(weight.detach())
    return weight + (codes * step - weight).detach()


class Expectation(Pretrained):
    """What makes a Thinker expect the lines that people say: a change of each of its matrices."""

    config_class = ExpectationConfig

    def __init__(self, config: ExpectationConfig):
        super().__init__()
        self.config = config
        self.words = nn.Embedding(*config.words)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {key(name): nn.Linear(*size[::-1], bias=False) for name, size in config.matrices.items()}
            )
            for _ in range(config.layers)
        )
        for weight in self.parameters():  # no change yet
            nn.init.zeros_(weight)

    @classmethod
    def of(cls, thinker: Thinker) -> Expectation:
        """A new one for this Thinker: it changes nothing yet."""
        layers = thinker.model.layers
        linear = {name: m for name, m in layers[0].named_modules() if isinstance(m, nn.Linear)}
        sizes = {name: list(m.weight.shape) for name, m in linear.items()}
        return cls(ExpectationConfig(len(layers), sizes, list(thinker.model.embed_tokens.weight.shape)))

    def changes(self) -> dict[str, nn.Module]:
        """What is added, by the names of the Thinker's modules."""
        changes: dict[str, nn.Module] = {"model.embed_tokens": self.words}
        for number, layer in enumerate(self.layers):
            changes |= {f"model.layers.{number}.{name}": layer[key(name)] for name in self.config.matrices}
        return changes

    def changed(self, thinker: Thinker) -> dict[str, Tensor]:
        """The Thinker's matrices with what is added to each, by their names in its state."""
        return {
            f"{name}.weight": thinker.get_submodule(name).weight + rounded(change.weight)
            for name, change in self.changes().items()
        }

    @torch.no_grad()
    def move(self, before: Thinker, after: Thinker) -> None:
        """Stand beside another Thinker and expect what was expected before; rounding loses some of it."""
        for name, change in self.changes().items():
            change.weight += before.get_submodule(name).weight - after.get_submodule(name).weight

    def saved_tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """As they are used, whatever the others' `dtype`: of three values."""
        return thinned(self.state_dict())

    @torch.no_grad()
    def judge(self, thinker: Thinker) -> Thinker:
        """A Thinker that expects lines, beside the one that it is made of."""
        judge = copy.deepcopy(thinker)
        judge.load_state_dict(self.changed(thinker), strict=False)
        return judge


def key(name: str) -> str:
    """A module's name where none may hold a dot."""
    return name.replace(".", "-")


def line_ids(tokenizer: Tokenizer, line: str) -> list[int]:
    """A line by itself, as the Thinker learns and judges it."""
    return [BOS, *tokenizer.encode(line), EOS]


@torch.inference_mode()
def expected(judge: Thinker, tokenizer: Tokenizer, lines: list[str]) -> list[float]:
    """Log-probability in nats of each of these lines, in letters as ears spell (models/letters.py)."""
    device = judge.head_weight.device
    rows = [torch.tensor(line_ids(tokenizer, line), device=device) for line in lines]
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD)  # (N, L)
    said = judge(ids[:, :-1]).float().transpose(1, 2)  # (N, V, L - 1)
    nats = F.cross_entropy(said, ids[:, 1:], ignore_index=PAD, reduction="none")  # (N, L - 1)
    return (-nats.sum(1)).tolist()
