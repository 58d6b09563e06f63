"""Objective of the vocoder stage: a waveform whose spectra equal those of the true one.

Most of the crops are heard through the codec first, as the talker's speech will be. There is no
adversary: at this size and time it costs more than it gives.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from data.crops import CropReader
from models.codec import MelCodec
from models.mel import FRAME_RATE, HOP, log_mel
from models.vocoder import Vocoder, VocoderConfig
from training.objective import Loss, Paths, to_device
from training.speech import prepare_speech

CROP_SECONDS = 0.64  # 64 mel frames, 16 code frames
CODEC_SHARE = 0.75  # of the crops: that is what it will mostly hear
RESOLUTIONS = ((256, 64), (512, 128), (1024, 160), (2048, 400))  # (window, hop) in samples
SAMPLED = 2  # resolutions a step: spectra cost more than the network
MEL_WEIGHT = 1.0
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
    """The vocoder with its loss: forward(batch) -> Loss."""

    def __init__(self, config: VocoderConfig):
        super().__init__()
        self.vocoder = Vocoder(config)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        wave, mel = batch["wave"], batch["mel"]  # (B, samples), (B, 128, T)
        made = self.vocoder(mel)  # (B, samples)
        with torch.autocast(wave.device.type, enabled=False):
            picks = torch.randperm(len(RESOLUTIONS))[:SAMPLED] if self.training else range(4)
            spectra = [spectral_loss(made, wave, *RESOLUTIONS[int(i)]) for i in picks]
            fit = torch.stack(spectra).mean()
            mel_fit = F.l1_loss(log_mel(made), log_mel(wave))
        B = len(wave)
        total = (fit + MEL_WEIGHT * mel_fit) * B
        return Loss(total, B, {"spectra": fit.detach() * B, "mel": mel_fit.detach() * B})


class VocoderObjective:
    """Batches, loss, validation and saving of the vocoder stage."""

    def __init__(self, config: dict, paths: Paths):
        self.model = VocoderTask(VocoderConfig(**config["model"]))
        self.size = config["train"]["batch_size"]
        self.codec = MelCodec.from_pretrained(paths.need("codec"))
        utterances = config["data"]["utterances"]
        samples = round(CROP_SECONDS * FRAME_RATE) * HOP
        self.train = CropReader(paths.data / "speaking_train", samples, config["seed"], utterances)
        self.dev = CropReader(paths.data / "speaking_dev", samples, seed=0)

    @torch.no_grad()
    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        """True waveforms and their mels, some of them heard through the codec."""
        wave = torch.from_numpy(self.train.batch(step, self.size, rank, world))
        mel = log_mel(wave)  # (B, 128, T)
        through = round(CODEC_SHARE * len(mel))
        with torch.autocast("cpu", enabled=False):
            mel[:through] = self.codec.decode(self.codec.encode(mel[:through]))
        return {"wave": wave, "mel": mel}

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


def prepare(config: dict, paths: Paths) -> None:
    """Make the speech this stage learns from."""
    prepare_speech(config, paths)


def build(config: dict, paths: Paths) -> VocoderObjective:
    """The objective of stage `vocoder`."""
    return VocoderObjective(config, paths)
