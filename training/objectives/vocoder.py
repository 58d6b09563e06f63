"""Objective of the vocoder stage: spectra like the true ones, and discriminators to be convinced.

Most of the crops pass the codec first, as the Talker's speech will. The first part of the run
learns from spectra alone, which is quick; then multi-period and multi-resolution discriminators
join in, as in Vocos (arXiv:2306.00814). One backward pass serves both sides: the discriminators see
the made waveform detached, the vocoder sees the discriminators frozen.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.codec import MelCodec
from models.discriminator import (
    Discriminators,
    discriminator_loss,
    feature_matching,
    generator_loss,
)
from models.mel import log_mel
from models.vocoder import Vocoder, VocoderConfig
from training.objective import Loss, Paths, slice_bounds, to_device
from training.speech import crops, prepare_speech

CROP_SECONDS = 0.64  # 64 mel frames, 16 code frames
TRUE_EVERY = 4  # a crop in four is heard as it is, the rest through the codec, as it will mostly be
RESOLUTIONS = ((256, 64), (512, 128), (1024, 160), (2048, 400))  # (window, hop) in samples
SAMPLED = 2  # resolutions a step: spectra cost more than the network
MEL_WEIGHT = 1.0
SPECTRA_WEIGHT, ADVERSARY_WEIGHT, FEATURE_WEIGHT = 3.0, 0.5, 2.0  # once discriminators take part
VALIDATION_CROPS = 32
FLOOR = 1e-4  # amplitude; spectra are compared above it


def spectrum(wave: Tensor, size: int, hop: int) -> Tensor:
    """Magnitudes of a waveform (B, samples) -> (B, F, T)."""
    taper = torch.hann_window(size, device=wave.device)
    out = torch.stft(wave, size, hop, size, taper, return_complex=True)
    return (out.real.square() + out.imag.square() + 1e-12).sqrt()


def spectral_loss(made: Tensor, true: Tensor, size: int, hop: int) -> Tensor:
    """Distance of log magnitudes plus relative distance of magnitudes, at one resolution."""
    a, b = spectrum(made, size, hop), spectrum(true, size, hop)
    scale = size**0.5 / 16  # the same floor relative to noise at every window length
    log_distance = (torch.log(a / scale + FLOOR) - torch.log(b / scale + FLOOR)).abs().mean()
    relative = (a - b).norm() / b.norm().clamp(min=1e-3)
    return log_distance + relative


class VocoderTask(nn.Module):
    """The vocoder and its discriminators with their losses: forward(batch) -> Loss."""

    def __init__(self, config: VocoderConfig):
        super().__init__()
        self.vocoder, self.discriminators = Vocoder(config), Discriminators()

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        wave, mel = batch["wave"], batch["mel"]  # (B, samples), (B, 128, T)
        made = self.vocoder(mel)  # (B, samples)
        with torch.autocast(wave.device.type, enabled=False):
            picks = torch.randperm(len(RESOLUTIONS))[:SAMPLED] if self.training else range(len(RESOLUTIONS))
            spectra = [spectral_loss(made, wave, *RESOLUTIONS[int(i)]) for i in picks]
            fit = torch.stack(spectra).mean()
            mel_fit = F.l1_loss(log_mel(made), log_mel(wave))
        B = len(wave)
        total, logs = fit + MEL_WEIGHT * mel_fit, {"spectra": fit, "mel": mel_fit}
        if batch.get("adversary"):
            judged = self.judge(made, wave)
            total = SPECTRA_WEIGHT * total + sum(
                weight * judged[name]
                for name, weight in (("discriminator", 1.0), ("adversary", ADVERSARY_WEIGHT),
                                     ("features", FEATURE_WEIGHT))
            )
            logs |= judged
        return Loss(total * B, B, {name: value.detach() * B for name, value in logs.items()})

    def judge(self, made: Tensor, wave: Tensor) -> dict[str, Tensor]:
        """Losses of the discriminators, and of the vocoder against them. made, wave (B, samples)"""
        real_scores, real_seen = self.discriminators(wave)
        made_scores, _ = self.discriminators(made.detach())
        truth = [[layer.detach() for layer in layers] for layers in real_seen]
        self.discriminators.requires_grad_(False)  # the graph below holds them as constants
        scores, seen = self.discriminators(made)
        self.discriminators.requires_grad_(True)
        return {
            "discriminator": discriminator_loss(real_scores, made_scores),
            "adversary": generator_loss(scores),
            "features": feature_matching(truth, seen),
        }


class VocoderObjective:
    """Batches, loss, validation and saving of the vocoder stage."""

    def __init__(self, config: dict, paths: Paths):
        self.model = VocoderTask(VocoderConfig(**config["model"]))
        self.size = config["train"]["batch_size"]
        self.adversary_from = round(config["data"]["adversary_from"] * config["train"]["steps"])
        self.codec = MelCodec.from_pretrained(paths.need("codec"))
        self.train = crops(config, paths, CROP_SECONDS)
        self.dev = crops(config, paths, CROP_SECONDS, "dev")

    @torch.no_grad()
    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        """True waveforms and their mels, some of them heard through the codec."""
        wave = torch.from_numpy(self.train.batch(step, self.size, rank, world))  # (B, samples)
        mel = log_mel(wave)  # (B, 128, T)
        coded = torch.tensor([i % TRUE_EVERY > 0 for i in slice_bounds(self.size, rank, world)])
        if coded.any():
            with torch.autocast("cpu", enabled=False):
                mel[coded] = self.codec.decode(self.codec.encode(mel[coded]))
        return {"wave": wave, "mel": mel, "adversary": step >= self.adversary_from}

    def validate(self) -> dict[str, float]:
        """The loss on unseen sentences: from true mels, and through the codec."""
        wave = torch.from_numpy(self.dev.batch(0, VALIDATION_CROPS))
        mel = log_mel(wave)
        device = next(self.model.parameters()).device
        heard = self.codec.decode(self.codec.encode(mel))
        figures = {}
        for name, source in (("true", mel), ("codec", heard)):
            loss = self.model(to_device({"wave": wave, "mel": source}, device))
            figures[f"{name}_spectra"] = float(loss.logs["spectra"]) / VALIDATION_CROPS
            figures[f"{name}_mel"] = float(loss.logs["mel"]) / VALIDATION_CROPS
        return figures

    def save(self, folder: Path) -> None:
        """Write the vocoder as a model of its own."""
        self.model.vocoder.save_pretrained(folder)


prepare = prepare_speech
build = VocoderObjective
