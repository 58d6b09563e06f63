"""The glance: what a photograph shows, as one look at the whole of it says.

The eyes (models/vision.py) tell what stands where in drawn scenes. A photograph is something else:
one thing fills it, and telling a fox from a wolf takes many layers of fine filters, but few pixels.
So a small residual network looks at the picture at 32 × 32 and says with which probability it is a
photograph of each thing that it knows, or none at all. Of a photograph, the Thinker gets a vector for
the likeliest name in place of every token of the eyes; drawn scenes are left to the eyes.

Networks that were trained apart err apart: several may look, and what they say on average counts.

Papers: residual networks arXiv:1512.03385; the layout follows ResNet-9 of David Page's "How to
train your ResNet"; folding of norms arXiv:1712.05877; deep ensembles arXiv:1612.01474.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.checkpoint import Pretrained

SIDE = 32  # pixels: photographs are looked at this small
NEARER = 40  # pixels: and once more as if from nearer


@dataclass
class GlanceConfig:
    """Widths in channels."""

    widths: list[int] = field(default_factory=lambda: [32, 64, 128, 256])
    hidden_size: int = 256  # the Thinker's
    names: list[str] = field(default_factory=list)  # of the things it can tell
    # Networks. Glances that differ in nothing else are exchanged freely: nobody sees how many look.
    looks: int = field(default=1, compare=False)
    folded: bool = True  # norms are part of the convolutions; False while it is trained


def shrink(pixels: Tensor) -> Tensor:
    """The mean of each 7 × 7 square. (B, 3, 224, 224) -> float (B, 3, 32, 32) in 0..255"""
    return F.avg_pool2d(pixels.float(), pixels.shape[-1] // SIDE)


class Convolution(nn.Linear):
    """3 × 3, its kernels kept as the rows of a matrix, so that Muon can treat it as one."""

    def __init__(self, channels: int, out_channels: int, bias: bool):
        super().__init__(9 * channels, out_channels, bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H, W)"""
        kernels = self.weight.unflatten(1, (-1, 3, 3)).contiguous(memory_format=torch.channels_last)
        return F.conv2d(x, kernels, self.bias, padding=1)


class Step(nn.Module):
    """Convolution, norm, GELU; halved in size before the norm if `pool`."""

    def __init__(self, channels: int, out_channels: int, folded: bool, pool: bool = False):
        super().__init__()
        self.conv = Convolution(channels, out_channels, bias=folded)
        self.norm = nn.Identity() if folded else nn.BatchNorm2d(out_channels)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)  # (B, C', H, W)
        if self.pool:
            x = F.max_pool2d(x, 2)  # (B, C', H/2, W/2)
        return F.gelu(self.norm(x))


class Stage(nn.Module):
    """Half the size, more channels, and one residual pair. (B, C, H, W) -> (B, C', H/2, W/2)"""

    def __init__(self, channels: int, out_channels: int, folded: bool):
        super().__init__()
        self.down = Step(channels, out_channels, folded, pool=True)
        self.first = Step(out_channels, out_channels, folded)
        self.second = Step(out_channels, out_channels, folded)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down(x)
        return x + self.second(self.first(x))


class Look(nn.Module):
    """One network: (B, 3, 32, 32) in 0..255 -> logits (B, 1 + names); the first is "none of them"."""

    def __init__(self, config: GlanceConfig):
        super().__init__()
        widths, folded = config.widths, config.folded
        self.enter = Step(3, widths[0], folded)
        pairs = zip(widths, widths[1:], strict=False)
        self.blocks = nn.ModuleList(Stage(a, b, folded) for a, b in pairs)
        self.head = nn.Linear(widths[-1], 1 + len(config.names))  # the first: no photograph

    def forward(self, small: Tensor) -> Tensor:
        x = (small / 127.5 - 1).to(self.head.weight.dtype)
        x = self.enter(x.contiguous(memory_format=torch.channels_last))  # (B, C, 32, 32)
        for block in self.blocks:
            x = block(x)  # (B, C', H/2, W/2)
        return self.head(x.amax((2, 3)))

    def steps(self) -> list[Step]:
        """All convolutions with their norms, in order."""
        return [module for module in self.modules() if isinstance(module, Step)]

    @torch.no_grad()
    def fold_into(self, made: "Look") -> None:
        """Make `made`, which has no norms, what this is."""
        for step, plain in zip(self.steps(), made.steps(), strict=True):
            norm = step.norm
            scale = norm.weight / (norm.running_var + norm.eps).sqrt()  # (C',)
            plain.conv.weight.copy_(step.conv.weight * scale[:, None])
            plain.conv.bias.copy_(norm.bias - norm.running_mean * scale)
        made.head.load_state_dict(self.head.state_dict())

    @torch.no_grad()
    def unfold_into(self, made: "Look", small: Tensor) -> None:
        """Make `made`, which has norms, what this is for the pictures `small` (B, 3, 32, 32).

        Each norm's mean and variance are those that its convolution gives these pictures, and its
        scale and bias undo them. Training can go on from here.
        """
        hooks = [
            plain.norm.register_forward_pre_hook(partial(match, step, plain))
            for step, plain in zip(made.steps(), self.steps(), strict=True)
        ]
        self(small)
        for hook in hooks:
            hook.remove()
        made.head.load_state_dict(self.head.state_dict())


class Glance(Pretrained):
    """uint8 (B, 3, 224, 224) and what the eyes see of it (B, 49, hidden) -> (B, 49, hidden)."""

    config_class = GlanceConfig

    def __init__(self, config: GlanceConfig):
        super().__init__()
        self.config = config
        self.looks = nn.ModuleList(Look(config) for _ in range(config.looks))
        self.words = nn.Parameter(torch.zeros(len(config.names), config.hidden_size))

    def probabilities(self, pixels: Tensor) -> Tensor:
        """Mean over all looks at two sizes of it, mirrored and not.

        (B, 3, 224, 224) -> float (B, 1 + names); the first is "no photograph".
        """
        small = shrink(pixels)  # (B, 3, 32, 32)
        nearer = F.interpolate(small, size=NEARER, mode="bilinear")  # (B, 3, 40, 40)
        views = [view for x in (small, nearer) for view in (x, x.flip(3))]
        said = [look(view) for look in self.looks for view in views]
        return torch.stack(said).float().softmax(-1).mean(0)

    def forward(self, pixels: Tensor, seen: Tensor) -> Tensor:
        """What the eyes have `seen` (B, 49, hidden), or, of a photograph, its name in each place."""
        best = self.probabilities(pixels).argmax(-1)[:, None, None]  # (B, 1, 1)
        named = self.words[(best[:, :, 0] - 1).clamp(min=0)]  # (B, 1, hidden)
        return torch.where(best > 0, named.to(seen.dtype), seen)

    @torch.no_grad()
    def fold(self) -> "Glance":
        """The same networks with every norm in its convolution: what is saved and used."""
        made = Glance(replace(self.config, folded=True))
        for look, plain in zip(self.looks, made.looks, strict=True):
            look.fold_into(plain)
        made.words.copy_(self.words)
        return made.eval()

    @torch.no_grad()
    def unfold(self, small: Tensor) -> "Glance":
        """The way back: with norms that, of the pictures `small` (B, 3, 32, 32), change nothing."""
        made = Glance(replace(self.config, folded=False))
        for look, normed in zip(self.looks, made.looks, strict=True):
            look.unfold_into(normed, small)
        made.words.copy_(self.words)
        return made


def match(step: Step, plain: Step, _: nn.Module, args: tuple[Tensor]) -> None:
    """Make `step` what the folded `plain` is; args[0] (B, C', H, W) is what `plain` has convolved."""
    variance, mean = torch.var_mean(args[0], (0, 2, 3), correction=0)  # (C',) each
    norm = step.norm
    step.conv.weight.copy_(plain.conv.weight)
    norm.running_mean.copy_(mean - plain.conv.bias)
    norm.running_var.copy_(variance)
    norm.weight.copy_((variance + norm.eps).sqrt())
    norm.bias.copy_(mean)
