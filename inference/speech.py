"""Text -> speech: sentence by sentence through front end, Talker, codec and vocoder.

`Speaker.speak` says a text at once, `speak_stream` hands out each sentence as soon as it is
ready. Nothing is played or written here: the caller gets float32 samples at 16 kHz.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.codec import MelCodec
from models.errors import UserError
from models.frontend import Frontend
from models.griffinlim import griffin_lim, refine
from models.mel import SAMPLE_RATE
from models.normalizer import can_say
from models.talker import Talker
from models.vocoder import Vocoder

VOCODERS = ("neural", "griffinlim")
TEMPERATURE = 0.5  # of the codes: 0 is flat, above 0.8 slurs
REFINE = 4  # Griffin-Lim rounds after the neural vocoder: little time, clearer sound
LOUDNESS = 0.08  # root mean square of the speech
PEAK = 0.95  # largest sample
SENTENCE_CHARACTERS = 240  # longer sentences are cut at a comma or a blank
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|\n+")


def split_sentences(text: str) -> list[str]:
    """Pieces to be said one after another; abbreviations ("Dr.", "J.") do not end one."""
    pieces: list[str] = []
    for part in SENTENCE_END.split(text):
        short = pieces and re.search(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Mt|vs|No)\.$", pieces[-1])
        if short and part.strip():
            pieces[-1] = f"{pieces[-1]} {part}"
        elif part.strip():
            pieces.append(part.strip())
    return [short for piece in pieces for short in _cut(piece)]


def _cut(piece: str) -> list[str]:
    out = []
    while len(piece) > SENTENCE_CHARACTERS:
        head = piece[:SENTENCE_CHARACTERS]
        at = max(head.rfind(", "), head.rfind("; ")) + 1 or head.rfind(" ")
        at = at if at > 0 else SENTENCE_CHARACTERS
        out.append(piece[:at].strip())
        piece = piece[at:].strip()
    return [*out, piece]


class Speaker:
    """The four parts of speech, loaded and ready."""

    def __init__(self, frontend: Frontend, talker: Talker, codec: MelCodec, vocoder: Vocoder):
        self.frontend, self.talker = frontend.eval(), talker.eval()
        self.codec, self.vocoder = codec.eval(), vocoder.eval()
        talker.set_codebooks(codec.quantizer.codebooks)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Speaker:
        """From an omni checkpoint: parts frontend, talker, codec and vocoder."""
        return cls(
            Frontend.from_pretrained(folder, "frontend"),
            Talker.from_pretrained(folder, "talker"),
            MelCodec.from_pretrained(folder, "codec"),
            Vocoder.from_pretrained(folder, "vocoder"),
        )

    @property
    def voices(self) -> list[str]:
        """Names that `voice=` takes."""
        return list(self.frontend.config.voices)

    def speak(
        self,
        text: str,
        voice: str | None = None,
        speed: float = 1.0,
        vocoder: str = "neural",
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> tuple[np.ndarray, int]:
        """Say `text`: float32 samples in [-1, 1] and their rate in Hz.

        Raises:
            UserError: nothing speakable in the text; unknown voice or vocoder; speed out of range.
        """
        chunks = list(self.speak_stream(text, voice, speed, vocoder, temperature, seed))
        return np.concatenate(chunks), SAMPLE_RATE

    def speak_stream(
        self,
        text: str,
        voice: str | None = None,
        speed: float = 1.0,
        vocoder: str = "neural",
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> Iterator[np.ndarray]:
        """The same, one sentence at a time; the chunks joined equal `speak`."""
        if vocoder not in VOCODERS:
            raise UserError(f"unknown vocoder {vocoder!r}: choose one of {', '.join(VOCODERS)}")
        voice = voice or self.voices[0]
        self.frontend.voice_id(voice)
        sentences = [piece for piece in split_sentences(text) if can_say(piece)]
        if not sentences:
            raise UserError(f"nothing to say in {text[:40]!r}: give it words, numbers or symbols")
        for sentence in sentences:
            yield self.say(sentence, voice, speed, vocoder, temperature, seed)

    @torch.inference_mode()
    def say(
        self,
        sentence: str,
        voice: str,
        speed: float = 1.0,
        vocoder: str = "neural",
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> np.ndarray:
        """One sentence, in one breath: float32 samples."""
        mel = self.mel(sentence, voice, speed, temperature, seed)
        if vocoder == "griffinlim":
            wave = griffin_lim(mel, seed=seed)
        else:
            wave = refine(self.vocoder(mel), mel, REFINE)
        return level(wave[0].float().numpy())

    @torch.inference_mode()
    def mel(
        self,
        sentence: str,
        voice: str,
        speed: float = 1.0,
        temperature: float = TEMPERATURE,
        seed: int = 0,
    ) -> Tensor:
        """One sentence as a log-mel (1, 128, T)."""
        ready = self.frontend(sentence, voice, speed)
        number = torch.tensor([self.frontend.voice_id(voice)])
        codes, _ = self.talker.generate(
            ready.phones[None], ready.starts[None], ready.seconds[None], number, temperature, seed
        )
        return self.codec.decode(codes)


def level(wave: np.ndarray) -> np.ndarray:
    """Speech at one loudness, never clipped. (samples,)"""
    wave = wave - wave.mean()
    peak = float(np.abs(wave).max(initial=0.0))
    if peak == 0:
        return wave.astype(np.float32)
    loud = wave[np.abs(wave) > 0.03 * peak]  # what is not silence
    rms = float(np.sqrt(np.mean(np.square(loud))))
    return (wave * min(LOUDNESS / rms, PEAK / peak)).astype(np.float32)
