"""Prompt: token ids with the images and sounds their placeholders stand for, in reading order.

It holds data and joins it; it neither tokenises (models.tokenizer) nor encodes (inference.generation).
"""

from dataclasses import dataclass, field

from torch import Tensor

from models.errors import UserError

REQUEST_KEYS = {"text", "image", "audio", "video", "system_prompt"}


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


def as_requests(given: list) -> list[dict]:
    """A batch's requests as dicts; UserError for anything else than a list of texts and dicts."""
    if isinstance(given, str | dict):
        raise UserError(f"a batch is a list of requests, not {type(given).__name__}")
    return [as_request(one) for one in given]


def as_request(given) -> dict:
    """One of a batch's requests, as a dict; a text alone is one, too."""
    request = {"text": given} if isinstance(given, str) else given
    if not isinstance(request, dict):
        raise UserError(f"a request is a text or a dict, not {type(given).__name__}")
    if unknown := set(request) - REQUEST_KEYS:
        raise UserError(f"unknown in a request: {', '.join(sorted(map(str, unknown)))}")
    return request
