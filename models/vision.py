"""Vision encoder with two branches: an image to 49 grid tokens and one global token.

The grid branch is a vision transformer with a convolutional stem. The stem brings 224² pixels to a
14 × 14 grid. The shared `Block`, without a causal mask, attends over the grid. Then each 2 × 2
neighbourhood merges into one token: a 7 × 7 grid, which still tells where things are. Small signs need
its fine cells. The convolutional branch (models/resnet.py) tells what the image shows as a whole, which
photographs need, in one token more. (What each buys: docs/decisions.md.) Normalisation happens inside,
so training and inference cannot differ in it.

Papers: ViT arXiv:2010.11929; convolutional stems arXiv:2106.14881; merging neighbours as in
Qwen2-VL, arXiv:2409.12191; two encoders side by side as in DeepSeek-VL, arXiv:2403.05525.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.block import Block, BlockConfig, RMSNorm, init_weights, run_blocks
from models.checkpoint import Pretrained
from models.image import IMAGE_SIZE
from models.resnet import ResNet, shrink


@dataclass
class VisionConfig:
    """Widths in channels, `patch_size` in pixels."""

    hidden_size: int = 192
    num_layers: int = 3
    num_heads: int = 3
    num_kv_heads: int = 3
    head_dim: int = 64
    intermediate_size: int = 512
    stem_size: int = 64  # of the first stage, at 56²; the second, at 28², has twice as many
    patch_size: int = 4
    image_size: int = IMAGE_SIZE
    merge: int = 2  # cells of the 14 × 14 grid a side that become one token
    resnet_widths: list[int] = field(default_factory=lambda: [32, 64, 128, 256])


class ConvBlock(nn.Module):
    """x + conv(gelu(conv(norm(x)))), 3 × 3, channels last. (B, H, W, C) -> the same."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = RMSNorm(channels)
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x).permute(0, 3, 1, 2)  # (B, C, H, W), a view: memory stays channels last
        y = self.second(F.gelu(self.first(y)))
        return x + y.permute(0, 2, 3, 1)  # (B, H, W, C)


class Downsample(nn.Module):
    """3 × 3 with stride 2, channels last. (B, H, W, C) -> (B, H/2, W/2, C')"""

    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.norm = RMSNorm(channels)
        self.conv = nn.Conv2d(channels, out_channels, 3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.norm(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class VisionEncoder(Pretrained):
    """uint8 (B, 3, 224, 224) -> (B, 50, hidden): 49 cells row by row, then the whole image."""

    config_class = VisionConfig

    def __init__(self, config: VisionConfig):
        super().__init__()
        self.config = c = config
        self.grid = c.image_size // (4 * c.patch_size)
        self.patch_embed = nn.Linear(3 * c.patch_size**2, c.stem_size)
        self.stem = nn.Sequential(
            ConvBlock(c.stem_size),
            Downsample(c.stem_size, 2 * c.stem_size),
            ConvBlock(2 * c.stem_size),
            Downsample(2 * c.stem_size, c.hidden_size),
        )
        self.row_embed = nn.Parameter(torch.randn(self.grid, c.hidden_size) * 0.02)
        self.column_embed = nn.Parameter(torch.randn(self.grid, c.hidden_size) * 0.02)
        self.layers = nn.ModuleList(Block(BlockConfig.of(c)) for _ in range(c.num_layers))
        self.merge_proj = nn.Linear(c.merge**2 * c.hidden_size, c.hidden_size)
        self.norm = RMSNorm(c.hidden_size)
        self.resnet = ResNet(c.resnet_widths)
        self.global_proj = nn.Linear(c.resnet_widths[-1], c.hidden_size)
        self.global_norm = RMSNorm(c.hidden_size)
        self.apply(init_weights)

    def patches(self, pixels: Tensor) -> Tensor:
        """Cut into patches, scaled to [-1, 1]. uint8 (B, 3, H, W) -> (B, H/patch, W/patch, 3 * patch²)"""
        c = self.config
        if pixels.dtype != torch.uint8:
            raise TypeError(f"pixels must be uint8 in 0..255, got {pixels.dtype}")
        if pixels.shape[1:] != (3, c.image_size, c.image_size):
            raise ValueError(f"images must be {c.image_size} pixels a side, got {tuple(pixels.shape)}")
        x = pixels.to(self.patch_embed.weight.dtype) / 127.5 - 1.0  # (B, 3, H, W)
        x = x.unflatten(3, (-1, c.patch_size)).unflatten(2, (-1, c.patch_size))
        return x.permute(0, 2, 4, 1, 3, 5).flatten(3)  # (B, H/patch, W/patch, 3 * patch²)

    def forward(self, pixels: Tensor) -> Tensor:
        whole = self.global_token(shrink(pixels))  # (B, hidden)
        return torch.cat([self.grid_tokens(pixels), whole[:, None]], 1)  # (B, 50, hidden)

    def grid_tokens(self, pixels: Tensor) -> Tensor:
        """What stands where. uint8 (B, 3, 224, 224) -> (B, 49, hidden)"""
        c, g = self.config, self.grid
        x = self.stem(self.patch_embed(self.patches(pixels))).flatten(1, 2)  # (B, grid², hidden)
        x = x + (self.row_embed[:, None] + self.column_embed[None]).flatten(0, 1)
        x = run_blocks(self.layers, x, BlockConfig.of(c))
        x = x.unflatten(1, (g // c.merge, c.merge, g // c.merge, c.merge))
        x = x.transpose(2, 3).flatten(3).flatten(1, 2)  # (B, 49, merge² * hidden)
        return self.norm(self.merge_proj(x))  # (B, 49, hidden)

    def global_token(self, small: Tensor) -> Tensor:
        """What the image shows as a whole. (B, 3, 32, 32) in 0..255 -> (B, hidden)"""
        return self.global_norm(self.global_proj(self.resnet(small)))
