"""Prompt: token ids with the images and sounds their placeholders stand for, in reading order.

It holds data and joins it; it neither tokenises (models.tokenizer) nor encodes (inference.generation).
"""

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(eq=False)
class Picture:
    """An image of a prompt, with its embeddings once it is encoded."""

    pixels: Tensor  # uint8 (3, 224, 224)
    tokens: Tensor | None = None  # (50, D), as the Thinker reads them


@dataclass(eq=False)
class Sound:
    """A recording of a prompt, with its encodings once it is encoded."""

    mel: Tensor  # log-mel (128, T)
    encoded: Tensor | None = None  # (n, C), the audio encoder's output, for the CTC head
    tokens: Tensor | None = None  # (n, D), as the Thinker reads them


@dataclass
class Prompt:
    """One sequence to continue. `ids` hold 50 placeholders an image and ceil(T / 8) a sound."""

    ids: list[int]
    images: list[Picture] = field(default_factory=list)
    sounds: list[Sound] = field(default_factory=list)
    asked: Sound | None = None  # the sound whose words come next

    def __add__(self, other: "Prompt") -> "Prompt":
        return Prompt(
            self.ids + other.ids,
            self.images + other.images,
            self.sounds + other.sounds,
            other.asked,
        )

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class UserTurn:
    """What a user brings in one turn."""

    text: str
    images: list[Picture] = field(default_factory=list)
    sounds: list[Sound] = field(default_factory=list)
    silent: bool = False  # its sounds hold no speech, and there is no image to ask about
