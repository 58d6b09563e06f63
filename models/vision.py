"""The eyes: a vision transformer that turns a picture into 49 tokens.

14 × 14 patches of 16 pixels go through the shared `Block` without a causal mask, then each 2 × 2
neighbourhood merges into one token: a 7 × 7 grid that still knows where things are, which a single
CLS token does not. Normalisation happens inside, so training and inference cannot differ in it.

Papers: ViT arXiv:2010.11929; merging neighbours as in Qwen2-VL, arXiv:2409.12191.
"""

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor, nn

from models.block import Block, BlockConfig, RMSNorm, init_weights, rope_table
from models.checkpoint import Pretrained

IMAGE_SIZE = 224  # pixels, height and width
IMAGE_TOKENS = 49  # what one picture takes up in the Thinker's sequence


@dataclass
class VisionConfig:
    """Widths in channels, `patch_size` in pixels."""

    hidden_size: int = 192
    num_layers: int = 5
    num_heads: int = 3
    num_kv_heads: int = 3
    head_dim: int = 64
    intermediate_size: int = 512
    patch_size: int = 16
    image_size: int = IMAGE_SIZE
    merge: int = 2  # patches a side that become one token

    def block(self) -> BlockConfig:
        """The sizes of one layer."""
        return BlockConfig(
            self.hidden_size,
            self.num_heads,
            self.num_kv_heads,
            self.head_dim,
            self.intermediate_size,
        )


def image_to_tensor(image: Image.Image) -> Tensor:
    """Any PIL image as the encoder wants it: upright, on white, squeezed to 224².

    Returns uint8 (3, 224, 224).
    """
    image = ImageOps.exif_transpose(image)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        canvas = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(canvas, image)
    image = image.convert("RGB").resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)  # (3, 224, 224)


class VisionEncoder(Pretrained):
    """uint8 (B, 3, 224, 224) -> (B, 49, hidden), row by row from the top left."""

    config_class = VisionConfig

    def __init__(self, config: VisionConfig):
        super().__init__()
        self.config = c = config
        self.grid = c.image_size // c.patch_size
        self.patch_embed = nn.Linear(3 * c.patch_size**2, c.hidden_size)
        self.row_embed = nn.Parameter(torch.randn(self.grid, c.hidden_size) * 0.02)
        self.column_embed = nn.Parameter(torch.randn(self.grid, c.hidden_size) * 0.02)
        self.layers = nn.ModuleList(Block(c.block()) for _ in range(c.num_layers))
        self.merge_proj = nn.Linear(c.merge**2 * c.hidden_size, c.hidden_size)
        self.norm = RMSNorm(c.hidden_size)
        self.apply(init_weights)

    def patches(self, pixels: Tensor) -> Tensor:
        """Cut into patches, scaled to [-1, 1]. uint8 (B, 3, H, W) -> (B, grid², 3 * patch²)"""
        c = self.config
        if pixels.dtype != torch.uint8:
            raise TypeError(f"pixels must be uint8 in 0..255, got {pixels.dtype}")
        if pixels.shape[1:] != (3, c.image_size, c.image_size):
            raise ValueError(f"pixels must be (B, 3, 224, 224), got {tuple(pixels.shape)}")
        x = pixels.to(self.patch_embed.weight.dtype) / 127.5 - 1.0  # (B, 3, H, W)
        x = x.unflatten(3, (self.grid, c.patch_size)).unflatten(2, (self.grid, c.patch_size))
        return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # (B, grid², 3 * patch²)

    def forward(self, pixels: Tensor) -> Tensor:
        c, g = self.config, self.grid
        x = self.patch_embed(self.patches(pixels))  # (B, grid², hidden)
        x = x + (self.row_embed[:, None] + self.column_embed[None]).flatten(0, 1)
        rope = rope_table(torch.arange(g * g, device=x.device), c.head_dim, 10_000.0)
        for layer in self.layers:
            x = layer(x, rope)
        x = x.unflatten(1, (g // c.merge, c.merge, g // c.merge, c.merge))
        x = x.transpose(2, 3).flatten(3).flatten(1, 2)  # (B, 49, merge² * hidden)
        return self.norm(self.merge_proj(x))  # (B, 49, hidden)
