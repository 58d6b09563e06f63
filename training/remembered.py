"""What a fixed vision encoder says of pictures: each is encoded once, however often it is drawn.

The joint stage draws a picture several times, and its encoder does not change. Pictures are told
apart by a digest of their files.
"""

from hashlib import blake2b
from itertools import islice

import torch
from torch import Tensor

from models.vision import VisionEncoder
from training.media import picture

ROOM = 120_000  # pictures remembered, 38 kB each in fp32: 4.6 GB; the oldest are forgotten


class Remembered:
    """The image tokens of encoded files, as `encoder` gives them without a gradient."""

    def __init__(self, encoder: VisionEncoder, room: int = ROOM):
        self.encoder, self.room = encoder, room
        self.tokens: dict[bytes, Tensor] = {}  # by digest, each (50, C), in the order of their coming

    def __call__(self, images: list[bytes]) -> Tensor:
        """Encoded files -> (N, 50, C)"""
        keys = [blake2b(image, digest_size=16).digest() for image in images]
        new = {key: image for key, image in zip(keys, images, strict=True) if key not in self.tokens}
        device = next(self.encoder.parameters()).device
        if new:
            pixels = [picture(image)[None].to(device) for image in new.values()]  # each (1, 3, 224, 224)
            with torch.no_grad():  # one at a time: company changes the last bits, and resuming changes it
                encoded = [self.encoder(one)[0].cpu() for one in pixels]  # each (50, C)
            self.tokens |= dict(zip(new, encoded, strict=True))
        tokens = torch.stack([self.tokens[key] for key in keys])  # (N, 50, C)
        for key in list(islice(self.tokens, max(0, len(self.tokens) - self.room))):
            del self.tokens[key]
        return tokens.to(device)
