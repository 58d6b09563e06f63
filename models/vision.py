"""Vision encoder: a vision transformer with a convolutional stem, an image to 49 tokens.

The stem brings 224² pixels to a 14 × 14 grid. The shared `Block`, without a causal mask, attends over
the grid. Then each 2 × 2 neighbourhood merges into one token: a 7 × 7 grid, which still tells where
things are, as a single CLS token does not. (What the stem gains over a plain 16-pixel patch
embedding: docs/decisions.md.) Normalisation happens inside, so training and inference cannot differ in it.

Papers: ViT arXiv:2010.11929; convolutional stems arXiv:2106.14881; merging neighbours as in
Qwen2-VL, arXiv:2409.12191.
"""

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from models.block import Block, BlockConfig, RMSNorm, init_weights, rope_table
from models.checkpoint import Pretrained

IMAGE_SIZE = 224  # pixels, height and width
IMAGE_TOKENS = 49  # what one picture takes up in the Thinker's sequence
TRIM_SIZE = 512  # pixels, the longer side of the copy in which plain margins are found
PLAIN = 12  # of 255: colours no farther apart than JPEG makes them are one
ORIENTATION = 0x0112  # EXIF's tag
TURNS = {  # EXIF orientation -> how the picture is turned upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


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


def image_to_tensor(image: Image.Image, trim: bool = True) -> Tensor:
    """Any PIL image as the encoder wants it: upright, on white, 224².

    A picture that is not square first loses plain margins at its longer ends, down to a square, so
    that what stands on them keeps its proportions. What is then still longer is squeezed: the
    encoder is trained on squeezed pictures.

    Args:
        trim: False keeps margins, so that things stay where they are from frame to frame.

    Returns:
        uint8 (3, 224, 224).
    """
    image = upright_rgb(image)
    if trim and image.width != image.height:
        image = trim_ends(image)
    image = image.resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)  # (3, 224, 224)


def upright_rgb(image: Image.Image) -> Image.Image:
    """Turned as EXIF says, clear parts on white, RGB. EXIF that cannot be read is ignored."""
    try:
        turn = TURNS.get(image.getexif().get(ORIENTATION))
    except Exception:  # noqa: BLE001 (Pillow raises nearly anything; the pixels may be sound)
        turn = None
    if turn is not None:
        image = image.transpose(turn)
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    plain = image.convert("RGB")
    return Image.frombytes("RGB", plain.size, plain.tobytes())  # without EXIF: turned once only


def trim_ends(image: Image.Image) -> Image.Image:
    """Cut plain margins at both ends of the longer side, down to a square at most."""
    tall, (short, long) = image.height > image.width, sorted(image.size)
    scale = max(long / TRIM_SIZE, 1.0)  # margins are looked for in a small copy
    sizes = [max(round(side / scale), 1) for side in image.size]
    pixels = np.asarray(image.resize(sizes, Image.Resampling.BOX), np.int16)  # (h, w, 3)
    lines = pixels if tall else pixels.swapaxes(0, 1)  # (long, short, 3)
    first = int(max(plain_run(lines) - 1, 0) * scale)
    last = long - int(max(plain_run(lines[::-1]) - 1, 0) * scale)
    if first >= last:  # plain all over
        first = last = long // 2
    spare = max(short - (last - first), 0)  # margin that stays: the picture becomes a square
    size = max(short, last - first)
    first = min(max(first - spare // 2, 0), long - size)
    return image.crop((0, first, short, first + size) if tall else (first, 0, first + size, short))


def plain_run(lines: np.ndarray) -> int:
    """How many lines from the first one on have one colour, that of its middle. (n, m, 3)"""
    colour = np.median(lines[0], axis=0)  # (3,)
    off = np.abs(lines - colour).max(axis=(1, 2)) > PLAIN  # (n,)
    return int(off.argmax()) if off.any() else len(lines)


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
    """uint8 (B, 3, 224, 224) -> (B, 49, hidden), row by row from the top left."""

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
        self.layers = nn.ModuleList(Block(c.block()) for _ in range(c.num_layers))
        self.merge_proj = nn.Linear(c.merge**2 * c.hidden_size, c.hidden_size)
        self.norm = RMSNorm(c.hidden_size)
        self.apply(init_weights)

    def patches(self, pixels: Tensor) -> Tensor:
        """Cut into patches, scaled to [-1, 1]. uint8 (B, 3, H, W) -> (B, H/4, W/4, 3 * patch²)"""
        c = self.config
        if pixels.dtype != torch.uint8:
            raise TypeError(f"pixels must be uint8 in 0..255, got {pixels.dtype}")
        if pixels.shape[1:] != (3, c.image_size, c.image_size):
            raise ValueError(f"pixels must be (B, 3, 224, 224), got {tuple(pixels.shape)}")
        x = pixels.to(self.patch_embed.weight.dtype) / 127.5 - 1.0  # (B, 3, H, W)
        x = x.unflatten(3, (-1, c.patch_size)).unflatten(2, (-1, c.patch_size))
        return x.permute(0, 2, 4, 1, 3, 5).flatten(3)  # (B, H/patch, W/patch, 3 * patch²)

    def forward(self, pixels: Tensor) -> Tensor:
        c, g = self.config, self.grid
        x = self.stem(self.patch_embed(self.patches(pixels))).flatten(1, 2)  # (B, grid², hidden)
        x = x + (self.row_embed[:, None] + self.column_embed[None]).flatten(0, 1)
        rope = rope_table(torch.arange(g * g, device=x.device), c.head_dim, 10_000.0)
        for layer in self.layers:
            x = layer(x, rope)
        x = x.unflatten(1, (g // c.merge, c.merge, g // c.merge, c.merge))
        x = x.transpose(2, 3).flatten(3).flatten(1, 2)  # (B, 49, merge² * hidden)
        return self.norm(self.merge_proj(x))  # (B, 49, hidden)
