"""A small ResNet: the convolutional branch of the vision encoder, which tells what a photograph shows.

Telling a fox from a wolf takes many layers of fine filters, but few pixels: it sees the image at
32 × 32. Batch norms hold running statistics, so they change with the mode; outside the stage that
trains them (`vision`) the branch is in eval mode.

Papers: residual networks, arXiv:1512.03385; the layout is after ResNet-9 of David Page's "How
to train your ResNet", with a residual pair in each stage.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIDE = 32  # pixels


def shrink(pixels: Tensor) -> Tensor:
    """The mean of each 7 × 7 square. (B, 3, 224, 224) -> float (B, 3, 32, 32) in 0..255"""
    return F.avg_pool2d(pixels.float(), pixels.shape[-1] // SIDE)


class Convolution(nn.Linear):
    """3 × 3 without bias, its kernels kept as the rows of a matrix, so that Muon can treat it as one."""

    def __init__(self, channels: int, out_channels: int):
        super().__init__(9 * channels, out_channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H, W)"""
        kernels = self.weight.unflatten(1, (-1, 3, 3)).contiguous(memory_format=torch.channels_last)
        return F.conv2d(x, kernels, padding=1)


class ConvNorm(nn.Module):
    """Convolution, batch norm, GELU; halved in size before the norm if `pool`."""

    def __init__(self, channels: int, out_channels: int, pool: bool = False):
        super().__init__()
        self.conv = Convolution(channels, out_channels)
        self.norm = nn.BatchNorm2d(out_channels)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)  # (B, C', H, W)
        if self.pool:
            x = F.max_pool2d(x, 2)  # (B, C', H/2, W/2)
        return F.gelu(self.norm(x))


class ResidualStage(nn.Module):
    """Half the size, more channels, and one residual pair. (B, C, H, W) -> (B, C', H/2, W/2)"""

    def __init__(self, channels: int, out_channels: int):
        super().__init__()
        self.down = ConvNorm(channels, out_channels, pool=True)
        self.first = ConvNorm(out_channels, out_channels)
        self.second = ConvNorm(out_channels, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down(x)
        return x + self.second(self.first(x))


class ResNet(nn.Module):
    """(B, 3, 32, 32) in 0..255 -> (B, widths[-1]), the largest value of each channel."""

    def __init__(self, widths: list[int]):
        super().__init__()
        self.enter = ConvNorm(3, widths[0])
        pairs = zip(widths, widths[1:], strict=False)
        self.blocks = nn.ModuleList(ResidualStage(a, b) for a, b in pairs)

    def forward(self, small: Tensor) -> Tensor:
        x = (small / 127.5 - 1).to(self.enter.conv.weight.dtype)
        x = self.enter(x.contiguous(memory_format=torch.channels_last))  # (B, C, 32, 32)
        for block in self.blocks:
            x = block(x)  # (B, C', H/2, W/2)
        return x.amax((2, 3))  # (B, C)
