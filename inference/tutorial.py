"""The objects of the tutorial's inference chapter, under its names, around ours.

`ThinkerLM` keeps its KV cache itself, so that it is called with new tokens only; `ViTTiny` and
`AudioEncoderTiny` are the encoders; `TalkerChain` has the three steps from text to sound apart.
Everything is run by models and inference.speech.
"""

from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from inference.loading import usable
from inference.speech import Speaker
from models.audio import AudioEncoder
from models.cache import KVCache
from models.errors import UserError
from models.image import image_to_tensor as transform  # a picture -> uint8 (3, 224, 224)
from models.mel import log_mel as mel_spec  # waveform (samples,) -> (128, T)
from models.projector import Projector
from models.thinker import Thinker
from models.vision import VisionEncoder

__all__ = [
    "AudioEncoderTiny", "TalkerChain", "ThinkerLM", "ViTTiny", "generate_audio", "generate_audio_codes",
    "load_projectors", "mel_spec", "transform",
]  # fmt: skip


class Evaluated:
    """Its networks are in evaluation mode from the start."""

    def eval(self):
        """The object itself."""
        return self


class ThinkerLM(Evaluated):
    """A Thinker with a cache of its own.

    Called with ids (B, T), a tensor or lists, or embeddings (B, T, hidden) it gives logits
    (B, T, vocab), and the cache besides where `use_cache` or `kv_cache` is given.
    """

    def __init__(self, thinker: Thinker) -> None:
        self.thinker = thinker.eval()
        self.kept: KVCache | None = None
        self.keeps = False

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "ThinkerLM":
        """From a checkpoint folder of the Thinker alone."""
        return cls(Thinker.from_pretrained(folder))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Weights of the same shapes in place of its own; what was read before is forgotten."""
        self.thinker.load_state_dict(state)
        self.reset_kv_cache()

    def tok_emb(self, ids: Tensor | list) -> Tensor:
        """Token embeddings. (B, T) or (T,) -> (B, T, hidden) or (T, hidden)"""
        device = self.thinker.model.embed_tokens.weight.device
        return self.thinker.embed(torch.as_tensor(ids, device=device))

    def enable_kv_cache(self, on: bool = True) -> None:
        """Keep what was read from call to call, or not."""
        self.keeps, self.kept = on, None

    def reset_kv_cache(self) -> None:
        """Forget what was read."""
        self.kept = None

    @torch.inference_mode()
    def __call__(
        self, ids: Tensor | list | None = None, embeddings: Tensor | None = None,
        use_cache: bool = False, kv_cache: KVCache | None = None, past_kv: KVCache | None = None,
    ) -> Tensor | tuple[Tensor, KVCache]:
        kv_cache = past_kv if kv_cache is None else kv_cache  # two names of one argument
        x = self.tok_emb(ids) if embeddings is None else embeddings
        x = x[None] if x.dim() == 2 else x  # (B, T, hidden)
        cache = kv_cache if kv_cache is not None else self.kept
        if cache is None and (use_cache or self.keeps):
            cache = self.thinker.new_cache(len(x))
        if self.keeps:
            self.kept = cache
        logits = self.thinker(inputs_embeds=x, cache=cache)  # (B, T, vocab)
        return (logits, cache) if use_cache or kv_cache is not None else logits


class ViTTiny(Evaluated):
    """A vision encoder, called with one picture: uint8 (3, 224, 224) -> global and grid tokens."""

    def __init__(self, encoder: VisionEncoder) -> None:
        self.encoder = encoder.eval()

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "ViTTiny":
        """From an omni checkpoint."""
        return cls(VisionEncoder.from_pretrained(folder, "vision"))

    @torch.inference_mode()
    def __call__(self, image: Tensor) -> tuple[Tensor, Tensor]:
        tokens = self.encoder(image[None] if image.dim() == 3 else image)  # (B, 50, C)
        return tokens[:, -1:], tokens[:, :-1]  # (B, 1, C), (B, 49, C)


class AudioEncoderTiny(Evaluated):
    """An audio encoder, called with one log-mel: (128, T) -> (1, ceil(T / 8), C)."""

    def __init__(self, encoder: AudioEncoder) -> None:
        self.encoder = encoder.eval()

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "AudioEncoderTiny":
        """From an omni checkpoint."""
        return cls(AudioEncoder.from_pretrained(folder, "audio"))

    @torch.inference_mode()
    def __call__(self, mel: Tensor) -> Tensor:
        mel = mel[None] if mel.dim() == 2 else mel  # (B, 128, T)
        lengths = torch.full((len(mel),), mel.shape[2], device=mel.device)
        return self.encoder(mel, lengths)  # (B, n, C)


def load_projectors(folder: str | Path) -> dict[str, dict[str, Tensor]]:
    """Weights of both projectors: `proj_v` of pictures, `proj_a` of sounds."""
    names = {"proj_v": "vision_projector", "proj_a": "audio_projector"}
    return {key: Projector.from_pretrained(folder, name).state_dict() for key, name in names.items()}


class TalkerChain(Evaluated):
    """Text to sound in three steps: `generate_audio_codes`, `rvq.decode`, `vocoder.mel_to_audio`."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker
        self.rvq = speaker.codec  # decode: codes (1, T, K) -> mel (1, 128, 4 T)
        self.vocoder = self

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "TalkerChain":
        """From an omni checkpoint."""
        return cls(Speaker.from_pretrained(folder))

    @torch.inference_mode()
    def generate_audio_codes(
        self, text: str, max_frames: int | None = None, voice: str | None = None
    ) -> Tensor:
        """A sentence as RVQ codes (1, T, K); its predicted durations set T, at most `max_frames`."""
        if max_frames is not None and max_frames < 1:
            raise UserError(f"max_frames must be at least 1, not {max_frames}")
        if not isinstance(text, str):
            raise UserError(f"the Talker reads a text, not {type(text).__name__}: ids mean nothing to it")
        _, frames = self.speaker.codes(text, voice or self.speaker.voices[0])
        return torch.stack(list(islice(frames, max_frames)), dim=1)  # (1, T, K)

    @torch.inference_mode()
    def mel_to_audio(self, mel: Tensor) -> np.ndarray:
        """A mel (1, 128, T) -> float32 (samples,) at 16 kHz."""
        return self.speaker.vocoder(mel)[0].float().numpy()


def generate_audio_codes(talker: TalkerChain, text: str, max_frames: int | None = None) -> Tensor:
    """The same as `TalkerChain.generate_audio_codes`. (1, T, K)"""
    return talker.generate_audio_codes(text, max_frames)


def generate_audio(
    talker: TalkerChain, rvq, voc: TalkerChain, text: str, device: str = "cpu",
    max_frames: int | None = None,
) -> np.ndarray:
    """Text to float32 (samples,) at 16 kHz, by the three steps; `device` is where the chain is."""
    codes = talker.generate_audio_codes(text, max_frames).to(usable(device))  # (1, T, K)
    return voc.mel_to_audio(rvq.decode(codes))
