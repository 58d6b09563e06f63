"""Prompt: token ids with the pictures and sounds their placeholders stand for, in reading order.

It holds data and joins it; it neither tokenises (models.tokenizer) nor encodes (models.omni).
"""

from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class Prompt:
    """One sequence to continue. `ids` hold 49 placeholders a picture and ceil(T/8) a clip."""

    ids: list[int]
    images: list[Tensor] = field(default_factory=list)  # each uint8 (3, 224, 224)
    mels: list[Tensor] = field(default_factory=list)  # each float (128, T)
    noted: int = 0  # of the mels, how many have been written down already
    transcript: bool = False  # its last turn asks for the words of one sound
    seen: frozenset[str] = frozenset()  # words for what the picture shows that the sound is about

    def __add__(self, other: "Prompt") -> "Prompt":
        return Prompt(
            self.ids + other.ids,
            self.images + other.images,
            self.mels + other.mels,
            self.noted + other.noted,
            other.transcript,
            other.seen,
        )

    def __len__(self) -> int:
        return len(self.ids)
