"""Text -> speech: sentence by sentence through front end, Talker, codec and vocoder.

`Speaker.speak` says a text at once; `speak_stream` hands out sound as soon as it is settled, also
of a text that is still being written. Nothing is played or written here: the caller gets float32
samples at 16 kHz.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from inference.loudness import Loudness
from inference.normalisation import can_say, normalise
from inference.sentences import sentences
from inference.synthesis import VOCODERS, in_chunks, waveform
from models.checkpoint import read_json
from models.codec import MelCodec
from models.errors import UserError
from models.frontend import Frontend, Sentence
from models.mel import SAMPLE_RATE
from models.talker import Talker
from models.vocoder import Vocoder

TEMPERATURE = 0.3  # of the codes where a seed is given; without one the likeliest is taken
SAMPLE_TEXT = "Hello, how are you today?"  # what a voice says to have its loudness measured


PARTS = {"frontend": Frontend, "talker": Talker, "codec": MelCodec, "vocoder": Vocoder}


def check_speech_parts(folder: str | Path) -> None:
    """Refuse speaking parts that are damaged, without reading their weights; none at all is fine."""
    listed = read_json(Path(folder) / "config.json").get("parts", {})
    for name, part in PARTS.items():
        if name in listed:
            part.checked(Path(folder), name)


class Speaker:
    """The four parts of speech, loaded and ready."""

    def __init__(self, frontend: Frontend, talker: Talker, codec: MelCodec, vocoder: Vocoder):
        self.frontend, self.talker = frontend.eval(), talker.eval()
        self.codec, self.vocoder = codec.eval(), vocoder.eval()
        self._loudness: dict[str, Loudness] = {}
        talker.set_codebooks(codec.quantizer.codebooks)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Speaker:
        """From an omni checkpoint: parts frontend, talker, codec and vocoder."""
        parts = {name: part.from_pretrained(folder, name) for name, part in PARTS.items()}
        parts["vocoder"].quicken()
        return cls(**parts)

    @property
    def voices(self) -> list[str]:
        """Names that `voice=` takes."""
        return list(self.frontend.config.voices)

    def check(
        self, voice: str | None = None, speed: float = 1.0, vocoder: str | None = None, **_
    ) -> None:
        """Refuse a voice, a speed or a vocoder that is not there; None is always."""
        self.frontend.check(voice or self.voices[0], speed)
        if vocoder not in (None, *VOCODERS):
            raise UserError(f"unknown vocoder {vocoder!r}: choose one of {', '.join(VOCODERS)}")

    def speak(self, text: str, voice: str | None = None, **settings) -> tuple[np.ndarray, int]:
        """Say `text`: float32 samples in [-1, 1] and their rate in Hz.

        Args:
            settings: speed, vocoder and seed, as for `speak_stream`.

        Raises:
            UserError: nothing speakable in the text; unknown voice or vocoder; speed out of range.
        """
        return np.concatenate(list(self.speak_stream(text, voice, **settings))), SAMPLE_RATE

    def speak_stream(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        vocoder: str | None = None,
        seed: int | None = None,
    ) -> Iterator[np.ndarray]:
        """The same in chunks; joined they equal `speak`.

        Args:
            text: all of it, or its parts as they are written. A sentence sounds as soon as it is
                whole; the next part is asked for only when its sound has been taken.
        """
        self.check(voice, speed, vocoder)
        voice, vocoder = voice or self.voices[0], vocoder or VOCODERS[0]
        loudness = self.loudness(voice)  # before the text, for it may be waited for
        said = False
        for sentence in sentences(text):
            if can_say(sentence):
                said = True
                for wave in self.sounds(sentence, voice, speed, vocoder, seed):
                    yield loudness.level(wave)
        if not said:
            raise UserError("there is nothing to say: give words in Latin letters, numbers or symbols")

    def loudness(self, voice: str) -> Loudness:
        """What levels this voice, measured when it is first needed."""
        if voice not in self._loudness:
            self._loudness[voice] = Loudness.of(
                np.concatenate(list(self.sounds(SAMPLE_TEXT, voice)))
            )
        return self._loudness[voice]

    @torch.inference_mode()
    def sounds(
        self,
        sentence: str,
        voice: str,
        speed: float = 1.0,
        vocoder: str = "neural",
        seed: int | None = None,
    ) -> Iterator[np.ndarray]:
        """One sentence, in one breath: float32 chunks (samples,) as loud as the vocoder made them.

        The Talker makes a second of codes, the vocoder settles what it can of it, and so on.
        """
        _, frames = self.codes(sentence, voice, speed, seed)
        for wave in waveform(self.codec, self.vocoder, in_chunks(frames), vocoder, seed=seed or 0):
            yield wave[0].float().numpy()

    def codes(
        self,
        sentence: str,
        voice: str,
        speed: float = 1.0,
        seed: int | None = None,
    ) -> tuple[Sentence, Iterator[Tensor]]:
        """One sentence's phones with their lengths, and its frames of codes, each (1, K)."""
        ready = self.frontend(normalise(sentence), voice, speed)
        temperature = 0.0 if seed is None else TEMPERATURE
        frames = self.talker.stream(ready.script, ready.seconds, temperature, seed or 0)
        return ready, frames


def speakable(text: str) -> str:
    """Refuse text with nothing in it to say."""
    if not isinstance(text, str) or not text.strip():
        raise UserError("there is no text to say")
    return text
