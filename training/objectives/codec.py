"""Objective of the codec stage: reconstruct log-mels through a few integers per frame."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.codec import CodecConfig, MelCodec
from models.mel import log_mel
from models.quantizer import perplexity
from training.objective import Loss, Paths, to_device
from training.speech import crops, prepare_speech

CROP_SECONDS = 1.92  # 48 code frames
COMMITMENT = 0.25  # weight of the commitment loss
VALIDATION_CROPS = 64


def mel_loss(made: Tensor, true: Tensor) -> Tensor:
    """Mean |error| (nats) + half the mean error² (nats²), of mels (B, 128, T)."""
    return F.l1_loss(made, true) + 0.5 * F.mse_loss(made, true)


class CodecTask(nn.Module):
    """The codec with its loss: forward(batch) -> Loss."""

    def __init__(self, config: CodecConfig):
        super().__init__()
        self.codec = MelCodec(config)

    def forward(self, batch: dict[str, Tensor]) -> Loss:
        mel = batch["mel"]  # (B, 128, T)
        made, quantized = self.codec(mel)
        fit = mel_loss(made, mel)
        total = fit + COMMITMENT * quantized.commitment
        B = len(mel)
        logs = {"mel": fit.detach() * B, "commitment": quantized.commitment.detach() * B}
        return Loss(total * B, B, logs)


class CodecObjective:
    """Batches, loss, validation and saving of the codec stage."""

    def __init__(self, config: dict, paths: Paths):
        self.model = CodecTask(CodecConfig(**config["model"]))
        self.size = config["train"]["batch_size"]
        self.train = crops(config, paths, CROP_SECONDS)
        self.dev = crops(config, paths, CROP_SECONDS, "dev")

    def batch(self, step: int, rank: int, world: int) -> dict[str, Tensor]:
        """Log-mels of this rank's crops."""
        waves = self.train.batch(step, self.size, rank, world)
        return {"mel": log_mel(torch.from_numpy(waves))}

    def validate(self) -> dict[str, float]:
        """Reconstruction error and how many codes are in use, on unseen sentences."""
        codec = self.model.codec
        waves = torch.from_numpy(self.dev.batch(0, VALIDATION_CROPS))
        mel = to_device(log_mel(waves), next(codec.parameters()).device)
        codes = codec.encode(mel)  # (B, T/4, K)
        figures = {"dev_l1": float(F.l1_loss(codec.decode(codes), mel))}
        size = codec.config.codebook_size
        for k in range(codes.shape[-1]):
            counts = torch.bincount(codes[..., k].flatten(), minlength=size)
            figures[f"perplexity_{k}"] = float(perplexity(counts))
            figures[f"used_{k}"] = float((counts > 0).sum())
        return figures

    def save(self, folder: Path) -> None:
        """Write the codec as a model of its own."""
        self.model.codec.save_pretrained(folder)


prepare = prepare_speech
build = CodecObjective
