"""The text front end: the words of a sentence -> its phones, how long and how high each is said.

grapheme-to-phone (learned) -> prosody (learned). Nothing here needs a speech engine or a
dictionary. Text becomes words in inference/normalisation. It makes no sound: the Talker does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from models.checkpoint import Pretrained, config_from_dict
from models.errors import UserError
from models.g2p import G2PConfig, GraphemeToPhone
from models.phones import MARKS, PAUSE_ID, PHONES
from models.prosody import ProsodyConfig, ProsodyModel
from models.talker import Script

VOICES = {"heart": "American woman", "fenrir": "American man", "emma": "British woman",
          "fable": "British man"}
SPEEDS = (0.5, 2.0)  # slowest and fastest speed that can be asked for


@dataclass
class FrontendConfig:
    """Voices, and the sizes of both networks."""

    voices: dict[str, str] = field(default_factory=lambda: dict(VOICES))  # name: who it is
    g2p: dict = field(default_factory=lambda: asdict(G2PConfig()))
    prosody: dict = field(default_factory=lambda: asdict(ProsodyConfig()))


@dataclass
class Sentence:
    """A sentence ready to be spoken."""

    words: list[str]
    script: Script  # (1, P) each
    seconds: Tensor  # (1, P)

    @property
    def phones(self) -> list[str]:
        """The names of its phones."""
        return [PHONES[i] for i in self.script.phones[0].tolist()]


class Frontend(Pretrained):
    """Words -> phones with durations and pitch."""

    config_class = FrontendConfig

    def __init__(self, config: FrontendConfig):
        super().__init__()
        self.config = config
        self.g2p = GraphemeToPhone(config_from_dict(G2PConfig, config.g2p, "frontend, g2p"))
        sizes = config.prosody | {"num_voices": len(config.voices)}
        self.prosody = ProsodyModel(config_from_dict(ProsodyConfig, sizes, "frontend, prosody"))

    def check(self, voice: str, speed: float) -> None:
        """Refuse a speed that is out of range, and a voice that is not there by naming those that are."""
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise UserError(f"speed {speed} is out of range: {SPEEDS[0]} to {SPEEDS[1]}")
        if voice not in self.config.voices:
            known = ", ".join(f"{name} ({who})" for name, who in self.config.voices.items())
            raise UserError(f"unknown voice {voice!r}: choose one of {known}")

    def phones(self, words: list[str]) -> tuple[list[int], list[int], list[int]]:
        """Words and marks -> phone ids, word starts, and each phone's mark; a pause at both ends."""
        said = iter(self.g2p.phones([word for word in words if word not in MARKS]))
        ids, starts, marks = [PAUSE_ID], [0], []
        for word in words:
            if word in MARKS:
                if ids[-1] != PAUSE_ID:
                    ids.append(PAUSE_ID)
                    starts.append(0)
                marks += [MARKS.index(word)] * (len(ids) - len(marks))
                continue
            sounds = next(said)
            ids += sounds
            starts += [1] + [0] * (len(sounds) - 1)
        if ids[-1] != PAUSE_ID:
            ids.append(PAUSE_ID)
            starts.append(0)
        return ids, starts, marks + [MARKS.index(".")] * (len(ids) - len(marks))

    @torch.no_grad()
    def forward(self, words: list[str], voice: str, speed: float = 1.0) -> Sentence:
        """One sentence (or a short text), as words and marks -> phones, durations and pitch."""
        self.check(voice, speed)
        device = self.g2p.head.weight.device
        ids, starts, marks = (torch.tensor([row], device=device) for row in self.phones(words))
        number = torch.tensor([list(self.config.voices).index(voice)], device=device)
        seconds, hertz = self.prosody.predict(ids, starts, marks, number, speed)  # (1, P) each
        return Sentence(words, Script(ids, starts, marks, hertz, number), seconds)
