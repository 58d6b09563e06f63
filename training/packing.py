"""Samples packed into rows: several short ones share a row, and none reads another.

A row is ROW tokens long, or a multiple of it for the longest sample; `packed` says which sample each
token belongs to, and the Thinker attends within it (Thinker.hidden). Without that, half of a batch of
samples is padding. Example packing: Krell et al., arXiv:2107.02027.
"""

import torch
from torch import Tensor

from training.media import padded_mels, picture

ROW = 256  # tokens


def pack(lengths: list[int], size: int) -> list[list[int]]:
    """Which items share a row of `size` places: each goes into the first row with room for it."""
    rows: list[list[int]] = []
    room: list[int] = []
    for item in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        row = next((r for r, left in enumerate(room) if left >= lengths[item]), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(size)
        rows[row].append(item)
        room[row] -= lengths[item]
    return rows


def pack_samples(samples: list[dict], pad: int) -> tuple[dict[str, Tensor], list[dict]]:
    """Ids and targets of samples in rows, and the samples in reading order.

    Returns:
        ids, targets (of the token after each), packed (the place of its sample), (R, L) each.
    """
    lengths = [len(sample["ids"]) - 1 for sample in samples]
    L = -(-max(lengths) // ROW) * ROW
    rows = pack(lengths, L)
    ids = torch.full((len(rows), L), pad)  # (R, L)
    targets, packed = torch.full_like(ids, -100), torch.full_like(ids, len(samples))
    for row, places in enumerate(rows):
        start = 0
        for place in places:
            part = slice(start, start + lengths[place])
            ids[row, part] = torch.tensor(samples[place]["ids"][:-1])
            targets[row, part] = torch.tensor(samples[place]["targets"][1:])
            packed[row, part] = place
            start = part.stop
    batch = {"ids": ids, "targets": targets, "packed": packed}
    return batch, [samples[place] for places in rows for place in places]


def stack_media(samples: list[dict], encoded: bool = False) -> dict[str, Tensor | list[bytes]]:
    """Pictures and sounds of samples in this order.

    Returns:
        pixels (N, 3, 224, 224) if there are pictures, or their files as images where `encoded`;
        mel (N, 128, T) and lengths (N,) if there are sounds.
    """
    batch: dict[str, Tensor | list[bytes]] = {}
    images = [image for sample in samples for image in sample["images"]]
    sounds = [sound for sample in samples for sound in sample["sounds"]]
    if images and encoded:
        batch["images"] = images
    elif images:
        batch["pixels"] = torch.stack([picture(image) for image in images])
    if sounds:
        batch["mel"], batch["lengths"] = padded_mels(sounds)
    return batch
