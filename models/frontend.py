"""The text front end: the words of a sentence -> its phones and how long each lasts.

grapheme-to-phone (learned) -> durations (learned). Nothing here needs a speech engine or a
dictionary. Text becomes words in inference/normalisation. It makes no sound: the Talker does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from models.checkpoint import Pretrained
from models.duration import DurationConfig, DurationModel
from models.errors import UserError
from models.g2p import G2PConfig, GraphemeToPhone
from models.phones import PAUSE_ID

VOICES = {"rms": "American man", "slt": "American woman", "awb": "Scottish man"}
SPEEDS = (0.5, 2.0)  # slowest and fastest speed that can be asked for


@dataclass
class FrontendConfig:
    voices: dict[str, str] = field(default_factory=lambda: dict(VOICES))  # name: who it is
    g2p: dict = field(default_factory=lambda: asdict(G2PConfig()))
    duration: dict = field(default_factory=lambda: asdict(DurationConfig()))


@dataclass
class Sentence:
    """A sentence ready to be spoken."""

    words: list[str]
    phones: Tensor  # (P,) ids
    starts: Tensor  # (P,) 1 where a word begins
    seconds: Tensor  # (P,)


class Frontend(Pretrained):
    """Words -> phones with durations."""

    config_class = FrontendConfig

    def __init__(self, config: FrontendConfig):
        super().__init__()
        self.config = config
        self.g2p = GraphemeToPhone(G2PConfig(**config.g2p))
        sizes = config.duration | {"num_voices": len(config.voices)}
        self.duration = DurationModel(DurationConfig(**sizes))

    def voice_id(self, voice: str) -> int:
        """The number of a voice; UserError names those there are."""
        if voice not in self.config.voices:
            known = ", ".join(f"{name} ({who})" for name, who in self.config.voices.items())
            raise UserError(f"unknown voice {voice!r}: choose one of {known}")
        return list(self.config.voices).index(voice)

    def phones(self, words: list[str]) -> tuple[list[int], list[int]]:
        """Words and pauses -> phone ids and word starts; a pause at both ends."""
        said = iter(self.g2p.phones([word for word in words if word not in ",."]))
        ids, starts = [PAUSE_ID], [0]
        for word in words:
            if word in ",.":
                if ids[-1] != PAUSE_ID:
                    ids.append(PAUSE_ID)
                    starts.append(0)
                continue
            sounds = next(said)
            ids += sounds
            starts += [1] + [0] * (len(sounds) - 1) if sounds else []
        if ids[-1] != PAUSE_ID:
            ids.append(PAUSE_ID)
            starts.append(0)
        return ids, starts

    @torch.no_grad()
    def forward(self, words: list[str], voice: str, speed: float = 1.0) -> Sentence:
        """One sentence (or a short text), as words and pauses -> phones and durations."""
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise UserError(f"speed {speed} is out of range: {SPEEDS[0]} to {SPEEDS[1]}")
        device = self.g2p.head.weight.device
        ids, starts = (torch.tensor(row, device=device) for row in self.phones(words))
        number = torch.tensor([self.voice_id(voice)], device=device)
        seconds = self.duration.seconds(ids[None], starts[None], number, speed)[0]
        return Sentence(words, ids, starts, seconds)
