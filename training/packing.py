"""Lessons packed into rows: several short ones share a row, and none reads another.

A row is ROW tokens long, or a multiple of it for the longest lesson; `packed` says which lesson each
token belongs to, and the Thinker attends within it (Thinker.hidden). Without that, half of a batch of
lessons is padding. Example packing: Krell et al., arXiv:2107.02027.
"""

import torch
from torch import Tensor

from training.media import padded_mels, picture
from training.rivals import RIVALS

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


def pack_lessons(lessons: list[dict], pad: int) -> tuple[dict[str, Tensor], list[dict]]:
    """Ids and targets of lessons in rows, and the lessons in reading order.

    Returns:
        ids, targets (of the token after each), packed (the place of its lesson), (R, L) each. With rivals
        among the lessons also rival (R, L), the number of each token's, -1 elsewhere, and of each sound
        heard and errors (G, RIVALS).
    """
    lengths = [len(lesson["ids"]) - 1 for lesson in lessons]
    L = -(-max(lengths) // ROW) * ROW
    rows = pack(lengths, L)
    ids = torch.full((len(rows), L), pad)  # (R, L)
    targets, packed = torch.full_like(ids, -100), torch.full_like(ids, len(lessons))
    rivals = [place for place, lesson in enumerate(lessons) if "errors" in lesson]
    rival = torch.full_like(ids, -1)
    for row, places in enumerate(rows):
        start = 0
        for place in places:
            part = slice(start, start + lengths[place])
            ids[row, part] = torch.tensor(lessons[place]["ids"][:-1])
            targets[row, part] = torch.tensor(lessons[place]["targets"][1:])
            packed[row, part] = place
            if "errors" in lessons[place]:
                rival[row, part] = rivals.index(place)
            start = part.stop
    batch = {"ids": ids, "targets": targets, "packed": packed}
    if rivals:
        batch["rival"] = rival
        for name in ("heard", "errors"):
            batch[name] = torch.tensor([lessons[i][name] for i in rivals]).view(-1, RIVALS)
    return batch, [lessons[place] for places in rows for place in places]


def stack_media(lessons: list[dict]) -> dict[str, Tensor | list[int]]:
    """Pictures and sounds of lessons in this order.

    Returns:
        pixels (N, 3, 224, 224) if there are pictures; mel (N, 128, T) and lengths (N,) if there are sounds;
        again, which of the sounds each lesson's is, where some share theirs, as rivals do.
    """
    batch = {}
    images = [picture(image) for lesson in lessons for image in lesson["images"]]
    sounds = [sound for lesson in lessons for sound in lesson["sounds"]]
    if images:
        batch["pixels"] = torch.stack(images)
    if sounds:
        once = {id(sound): sound for sound in sounds}
        if len(once) < len(sounds):
            numbers = {key: number for number, key in enumerate(once)}
            batch["again"] = [numbers[id(sound)] for sound in sounds]
        batch["mel"], batch["lengths"] = padded_mels(list(once.values()))
    return batch
