"""The objects of the tutorial's inference chapter, under its names, around ours.

`ThinkerLM` keeps its KV cache itself, so that it is called with new tokens only; `TalkerChain` has the
three steps from text to sound apart. Everything is run by models.thinker and inference.speech.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from inference.speech import Speaker
from models.cache import KVCache
from models.thinker import Thinker


class ThinkerLM:
    """A Thinker with a cache of its own.

    Called with ids (B, T) or embeddings (B, T, hidden) it gives logits (B, T, vocab), and the cache
    besides where `use_cache` or `kv_cache` is given.
    """

    def __init__(self, thinker: Thinker) -> None:
        self.thinker = thinker.eval()
        self.kept: KVCache | None = None
        self.keeps = False

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "ThinkerLM":
        """From a checkpoint folder of the Thinker alone."""
        return cls(Thinker.from_pretrained(folder))

    def tok_emb(self, ids: Tensor) -> Tensor:
        """Token embeddings. (B, T) -> (B, T, hidden)"""
        return self.thinker.embed(ids)

    def enable_kv_cache(self, on: bool = True) -> None:
        """Keep what was read from call to call, or not."""
        self.keeps, self.kept = on, None

    def reset_kv_cache(self) -> None:
        """Forget what was read."""
        self.kept = None

    @torch.inference_mode()
    def __call__(
        self, ids: Tensor | None = None, embeddings: Tensor | None = None,
        use_cache: bool = False, kv_cache: KVCache | None = None,
    ) -> Tensor | tuple[Tensor, KVCache]:
        x = self.tok_emb(ids) if embeddings is None else embeddings  # (B, T, hidden)
        cache = kv_cache if kv_cache is not None else self.kept
        if cache is None and (use_cache or self.keeps):
            cache = self.thinker.new_cache(len(x))
        if self.keeps:
            self.kept = cache
        logits = self.thinker(inputs_embeds=x, cache=cache)  # (B, T, vocab)
        return (logits, cache) if use_cache or kv_cache is not None else logits


class TalkerChain:
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
        _, frames = self.speaker.codes(text, voice or self.speaker.voices[0])
        return torch.stack(list(frames)[:max_frames], dim=1)  # (1, T, K)

    @torch.inference_mode()
    def mel_to_audio(self, mel: Tensor) -> np.ndarray:
        """A mel (1, 128, T) -> float32 (samples,) at 16 kHz."""
        return self.speaker.vocoder(mel)[0].float().numpy()
