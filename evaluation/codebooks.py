"""The codec on voices it never heard: with all of its codebooks, with fewer, and its controls.

Every sound passes codec and vocoder. Distance and intelligibility are against the sound itself.
Controls that must fail: codes drawn at random, a sound's own codes in another order, and one
mean frame throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from evaluation.fidelity import understood
from evaluation.hearing import Heard, judged
from evaluation.results import Figure, mean
from evaluation.said import Said
from evaluation.setting import SEED, Measured
from inference.codec import decode
from inference.speech import Speaker
from models.mel import HOP, log_mel
from models.quantizer import perplexity

DECIBELS = 20 / math.log(10)  # in a neper, the unit of the mel
CONTROLS = 12  # sounds of each control


@torch.inference_mode()
def encoded(speaker: Speaker, wave: np.ndarray) -> tuple[Tensor, Tensor]:
    """float (samples,) -> the wave in whole code frames (samples,), its codes (T, K)."""
    sound = torch.from_numpy(wave)
    frame = speaker.codec.config.stack * HOP  # samples of a code frame
    sound = F.pad(sound, (0, -len(sound) % frame))
    return sound, speaker.codec.encode(log_mel(sound)[None])[0]


def coded(speaker: Speaker, sounds: list[Said], count: int | None = None) -> list[Said]:
    """The sounds through the codec, with so many of its codebooks."""
    codes = [encoded(speaker, said.wave)[1] for said in sounds]
    made = [decode(speaker.codec, speaker.vocoder, c, count).numpy() for c in codes]
    return [Said(said.text, wave) for said, wave in zip(sounds, made, strict=True)]


def ladder(speaker: Speaker, sounds: list[Said], workers: int) -> Measured:
    """One rung per number of codebooks: `books_1/...` and so on."""
    figures: Measured = {}
    config = speaker.codec.config
    waves = [encoded(speaker, said.wave)[0].numpy() for said in sounds]
    for count in range(1, config.num_codebooks + 1):
        row, made = f"books_{count}", coded(speaker, sounds, count)
        bits = config.bitrate * count / config.num_codebooks / 1000  # kbit/s
        figures[f"{row}/bitrate"] = Figure(bits, None, None, len(sounds), SEED, "kbit/s")
        copies = [said.wave for said in made]
        apart = [distance(a, b) for a, b in zip(copies, waves, strict=True)]
        figures[f"{row}/mel"] = mean(apart, "dB")
        figures[f"{row}/stoi"] = mean(understood(waves, copies))
        figures |= Heard.figures(row, judged(made, workers, f"{count} codebooks"))
    return figures


def controls(speaker: Speaker, sounds: list[Said], workers: int) -> Measured:
    """What must not be understood: `control_random/...`, `..._shuffled`, `..._mean`."""
    figures: Measured = {}
    rng = torch.Generator().manual_seed(SEED)
    size = speaker.codec.config.codebook_size
    changes: dict[str, Callable[[Tensor], Tensor]] = {
        "random": lambda codes: torch.randint(0, size, codes.shape, generator=rng),
        "shuffled": lambda codes: codes[torch.randperm(len(codes), generator=rng)],
    }
    for name, change in changes.items():
        made = [
            Said(said.text, decode(speaker.codec, speaker.vocoder, change(codes)).numpy())
            for said in sounds[:CONTROLS]
            for codes in [encoded(speaker, said.wave)[1]]
        ]
        figures |= Heard.figures(f"control_{name}", judged(made, workers, f"{name} codes"))
    flat = [mean_frame(speaker, said) for said in sounds[:CONTROLS]]
    return figures | Heard.figures("control_mean", judged(flat, workers, "mean frames"))


@torch.inference_mode()
def mean_frame(speaker: Speaker, said: Said) -> Said:
    """The sound's mean mel frame for as long as it lasts."""
    mel = log_mel(torch.from_numpy(said.wave))[None]  # (1, 128, T)
    mel = mel.mean(-1, keepdim=True).expand_as(mel).contiguous()
    return Said(said.text, speaker.vocoder(mel)[0].float().numpy())


def distance(made: np.ndarray, wave: np.ndarray) -> float:
    """Mean distance in dB between the log-mels of two waves (samples,)."""
    both = [log_mel(torch.from_numpy(w)) for w in (made, wave)]  # (128, T) each
    return float((both[0] - both[1]).abs().mean()) * DECIBELS


def use(codes: Tensor, size: int) -> Measured:
    """How evenly each codebook is used, codes (frames, K): perplexity, and its share of `size`."""
    figures: Measured = {}
    for k in range(codes.shape[1]):
        value = float(perplexity(torch.bincount(codes[:, k], minlength=size)))
        for name, number, unit in ("perplexity", value, "codes"), ("use", value / size, "rate"):
            figures[f"codebook_{k}/{name}"] = Figure(number, None, None, len(codes), SEED, unit)
    return figures
