"""The omni-model: a Thinker with eyes and ears.

Pictures and sounds become embeddings of the Thinker's width and take the places that placeholder
tokens hold for them in one sequence: any modality, any turn, several of each. This file fuses; it
does not generate, resize, resample or tokenise.
"""

import dataclasses
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn

from models.audio import AudioEncoder, audio_tokens
from models.checkpoint import read_json, write_json
from models.errors import UserError
from models.expectation import Expectation
from models.finder import Finder, Found
from models.glance import Glance
from models.projector import Projector
from models.thinker import Thinker
from models.vision import VisionEncoder
from models.wordlm import FILE, WordLM

TRANSCRIBE_QUESTION = "What did you hear?"  # a sound is first answered with its words
NOTE_QUESTION = "Note what you see."  # a picture is first answered with notes (models/notes.py)
PARTS = {
    "thinker": Thinker,
    "vision": VisionEncoder,
    "vision_projector": Projector,
    "glance": Glance,
    "finder": Finder,
    "audio": AudioEncoder,
    "audio_projector": Projector,
    "expectation": Expectation,
}
# Without them photographs have no names, notes are the Thinker's, and readings are not judged as lines.
OPTIONAL = {"glance", "finder", "expectation"}


class OmniModel(nn.Module):
    """Thinker, encoders and projectors.

    Args:
        image_token, audio_token: ids of the placeholders `<|image|>` and `<|audio|>`.
        picture_notes: whether it was taught to note what it sees.
        glance: tells what a photograph shows; None where it learnt from no photographs.
        finder: tells what stands where in a drawn scene; None: the Thinker notes that itself.
        wording: knows which words follow each other, for transcripts; None: letters alone say
            what may have been said.
        expectation: knows what people say, to judge readings of a sound as lines; None: they are not.
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
        picture_notes: bool = False,
        glance: Glance | None = None,
        finder: Finder | None = None,
        wording: WordLM | None = None,
        expectation: Expectation | None = None,
    ):
        super().__init__()
        self.thinker = thinker
        self.vision, self.vision_projector = vision, vision_projector
        self.glance, self.finder = glance, finder
        self.audio, self.audio_projector = audio, audio_projector
        self.image_token, self.audio_token = image_token, audio_token
        self.picture_notes, self.wording, self.expectation = picture_notes, wording, expectation

    @property
    def judge(self) -> Thinker | None:
        """The Thinker as it expects lines, made when it is first asked; None: nothing taught it that."""
        return None if self.expectation is None else self._judge

    @cached_property
    def _judge(self) -> Thinker:
        return self.expectation.judge(self.thinker)

    def encode_images(self, pixels: Tensor) -> Tensor:
        """uint8 (N, 3, 224, 224) -> (N, 49, hidden)"""
        seen = self.vision_projector(self.vision(pixels))  # (N, 49, hidden)
        return seen if self.glance is None else self.glance(pixels, seen)

    @torch.inference_mode()
    def find(self, pixels: Tensor) -> list[Found | None]:
        """What stands where in each picture; None for a photograph. uint8 (N, 3, 224, 224)"""
        found: list[Found | None] = list(self.finder.find(self.vision(pixels)))
        if self.glance is not None:
            photographs = self.glance.probabilities(pixels).argmax(-1) > 0  # (N,)
            found = [None if photo else one for photo, one in zip(photographs, found, strict=True)]
        return found

    def encode_audio(self, mels: list[Tensor]) -> list[Tensor]:
        """Log-mels of any lengths, each (128, T) -> one (ceil(T / 8), hidden) each."""
        lengths = torch.tensor([mel.shape[1] for mel in mels], device=mels[0].device)
        batch = mels[0].new_zeros(len(mels), mels[0].shape[0], int(lengths.max()))  # (N, 128, T)
        for row, mel in zip(batch, mels, strict=True):
            row[:, : mel.shape[1]] = mel
        encoded = self.audio_projector(self.audio(batch, lengths))  # (N, n, hidden)
        return [
            row[: audio_tokens(int(length))]
            for row, length in zip(encoded, lengths, strict=True)
        ]

    def spelled(self, mel: Tensor) -> Tensor:
        """How a sound is spelt: log-mel (128, T) -> log-probabilities (4 * ceil(T / 8), labels)."""
        lengths = torch.tensor([mel.shape[1]], device=mel.device)
        return self.audio.letters(self.audio(mel[None], lengths))[0]

    def fuse(
        self, ids: Tensor, images: Tensor | None = None, clips: list[Tensor] | None = None
    ) -> Tensor:
        """Embed tokens, putting pictures and sounds where their placeholders stand.

        Args:
            ids: (B, S).
            images: (N, 49, hidden), in reading order over the batch.
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

    def save_pretrained(
        self,
        folder: str | Path,
        dtype: torch.dtype = torch.bfloat16,
        packed: tuple[str, ...] = (),
    ) -> None:
        """Write every part beside one `config.json`; parts of others in it are kept.

        Args:
            packed: names of parts whose matrices are written as int8 instead of `dtype`.
        """
        for name in PARTS:
            part = getattr(self, name)
            if part is not None:
                save_part(folder, name, part, torch.int8 if name in packed else dtype)
        if self.wording is not None:
            self.wording.save(Path(folder) / FILE)
        path = Path(folder) / "config.json"
        values = {
            "image_token_id": self.image_token,
            "audio_token_id": self.audio_token,
            "picture_notes": self.picture_notes,
            "words": self.wording is not None,
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
        wanted = PARTS.keys() - (OPTIONAL - values.get("parts", {}).keys())
        parts = ready | {name: PARTS[name].from_pretrained(folder, name) for name in wanted - ready.keys()}
        model = cls(
            **parts,
            image_token=values["image_token_id"],
            audio_token=values["audio_token_id"],
            picture_notes=values.get("picture_notes", False),
            wording=WordLM.load(Path(folder) / FILE) if values.get("words") else None,
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
