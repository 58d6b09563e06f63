"""Omni-model: a language model (Thinker) that reads text, image and audio embeddings in one sequence.

Each encoder's output is projected to the Thinker's width and takes the places that placeholder tokens
hold for it: any modality, any turn, several of each. This file fuses; it does not generate, resize,
resample or tokenise.
"""

import dataclasses
from pathlib import Path

import torch
from torch import Tensor, nn

from models.audio import AudioEncoder, audio_tokens
from models.checkpoint import read_json, write_json
from models.errors import UserError
from models.ngram_lm import FILE, NgramLM
from models.projector import Projector
from models.thinker import Thinker
from models.vision import VisionEncoder

TRANSCRIBE_QUESTION = "What did you hear?"  # answered with the transcript of a sound
NO_SPEECH = "I hear no speech."  # the answer to a sound without any
PARTS = {
    "thinker": Thinker,
    "vision": VisionEncoder,
    "vision_projector": Projector,
    "audio": AudioEncoder,
    "audio_projector": Projector,
}


def thinker_of(model):
    """The language model inside an OmniModel or an Omni, or the Thinker itself."""
    inside = getattr(model, "model", None)  # an Omni's
    model = inside if isinstance(inside, OmniModel | Thinker) else model
    return getattr(model, "thinker", model)


class OmniModel(nn.Module):
    """Thinker, encoders and projectors.

    Args:
        image_token, audio_token: ids of the placeholders `<|image|>` and `<|audio|>`.
        ngram: language model for shallow fusion in transcripts; None: CTC alone gives the hypotheses.
    """

    def __init__(
        self,
        thinker: Thinker,
        vision: VisionEncoder,
        vision_projector: Projector,
        audio: AudioEncoder,
        audio_projector: Projector,
        image_token: int,
        audio_token: int,
        ngram: NgramLM | None = None,
    ):
        super().__init__()
        self.thinker = thinker
        self.vision, self.vision_projector = vision, vision_projector
        self.audio, self.audio_projector = audio, audio_projector
        self.image_token, self.audio_token = image_token, audio_token
        self.ngram = ngram

    def encode_images(self, pixels: Tensor) -> Tensor:
        """uint8 (N, 3, 224, 224) -> (N, 50, hidden)"""
        return self.vision_projector(self.vision(pixels))

    def encode_audio(self, mels: list[Tensor]) -> list[Tensor]:
        """Log-mels of any lengths, each (128, T) -> the encoder's (ceil(T / 8), channels) of each."""
        lengths = torch.tensor([mel.shape[1] for mel in mels], device=mels[0].device)
        batch = mels[0].new_zeros(len(mels), mels[0].shape[0], int(lengths.max()))  # (N, 128, T)
        for row, mel in zip(batch, mels, strict=True):
            row[:, : mel.shape[1]] = mel
        encoded = self.audio(batch, lengths)  # (N, n, channels)
        return [
            row[: audio_tokens(int(length))]
            for row, length in zip(encoded, lengths, strict=True)
        ]

    def fuse(
        self, ids: Tensor, images: Tensor | None = None, clips: list[Tensor] | None = None
    ) -> Tensor:
        """Embed tokens, putting pictures and sounds where their placeholders stand.

        Args:
            ids: (B, S).
            images: (N, 50, hidden), in reading order over the batch.
            clips: one (n, hidden) a sound, in reading order over the batch.

        Returns:
            (B, S, hidden).

        Raises:
            ValueError: placeholders and embeddings differ in number.
        """
        x = self.thinker.embed(ids)  # (B, S, hidden)
        if images is not None:
            x = place(x, ids == self.image_token, images.flatten(0, 1), "image")
        elif bool((ids == self.image_token).any()):
            raise ValueError("image placeholders without images")
        if clips:
            x = place(x, ids == self.audio_token, torch.cat(clips), "audio")
        elif bool((ids == self.audio_token).any()):
            raise ValueError("audio placeholders without audio")
        return x

    def save_pretrained(self, folder: str | Path, dtype: torch.dtype = torch.bfloat16) -> None:
        """Write every part beside one `config.json`; parts of others in it are kept."""
        for name in PARTS:
            part = getattr(self, name)
            save_part(folder, name, part, dtype)
        if self.ngram is not None:
            self.ngram.save(Path(folder) / FILE)
        path = Path(folder) / "config.json"
        values = {
            "image_token_id": self.image_token,
            "audio_token_id": self.audio_token,
            "ngram": self.ngram is not None,
        }
        write_json(path, read_json(path) | values)

    @classmethod
    def from_pretrained(cls, folder: str | Path, **ready: nn.Module) -> "OmniModel":
        """Load all parts but those that are `ready`, by name.

        Raises:
            UserError: a file missing, corrupt or not fitting its config.
        """
        values = read_json(Path(folder) / "config.json")
        if values.get("model_type") != "muomni":
            raise UserError(f"{folder} holds a {values.get('model_type')} model, not an omni-model")
        wanted = PARTS.keys() - ready.keys()
        parts = ready | {name: PARTS[name].from_pretrained(folder, name) for name in wanted}
        model = cls(
            **parts,
            image_token=values["image_token_id"],
            audio_token=values["audio_token_id"],
            ngram=NgramLM.load(Path(folder) / FILE) if values.get("ngram") else None,
        )
        return model.eval()


def place(x: Tensor, where: Tensor, embeddings: Tensor, kind: str) -> Tensor:
    """Put embeddings (n, hidden) at the True positions of `where` (B, S), in reading order."""
    wanted = int(where.sum())
    if wanted != embeddings.shape[0]:
        raise ValueError(f"{wanted} {kind} placeholders for {embeddings.shape[0]} embeddings")
    return x.masked_scatter(where[..., None], embeddings.to(x.dtype))


def save_part(
    folder: str | Path, name: str, part: nn.Module, dtype: torch.dtype = torch.bfloat16
) -> None:
    """Write `<name>.safetensors` and enter its config in the folder's `config.json`."""
    folder = Path(folder)
    part.save_pretrained(folder, name, dtype)
    path = folder / "config.json"
    values = read_json(path) if path.exists() else {"model_type": "muomni", "parts": {}}
    values["parts"][name] = dataclasses.asdict(part.config)
    write_json(path, values)
