"""PrefixStore: caches of what was read before, so that a conversation's next turn reads only what
is new (prefix caching).

A prompt is known by its marks: a token's id, or for a picture's or sound's placeholder a number
made of its content. What begins with the same marks has the same keys and values.
"""

import copy
import hashlib
from collections import OrderedDict

import torch
from torch import Tensor

from inference.prompt import Prompt
from models.audio import audio_tokens
from models.cache import KVCache
from models.tokenizer import IMAGE_TOKENS

MIN_REUSED = 8  # tokens; copying fewer saves nothing


def digest(x: Tensor) -> int:
    """A negative number that stands for the content; ids are not negative."""
    content = x.contiguous().cpu().view(torch.uint8).numpy().tobytes()
    return -1 - int.from_bytes(hashlib.sha256(content).digest()[:7])


def marks_of(prompt: Prompt, image: int | None, audio: int | None) -> list[int]:
    """What a prompt is known by; image and audio are the ids of the placeholders."""
    marks = list(prompt.ids)
    runs = {
        image: [(IMAGE_TOKENS, digest(one.pixels)) for one in prompt.images],
        audio: [(audio_tokens(one.mel.shape[1]), digest(one.mel)) for one in prompt.sounds],
    }
    for token, media in runs.items():
        places = iter([i for i, one in enumerate(prompt.ids) if one == token])
        for count, mark in media:
            for _ in range(count):
                marks[next(places)] = mark
    return marks


def common(a: list[int], b: list[int]) -> int:
    """How many marks two sequences begin with together."""
    for place, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return place
    return min(len(a), len(b))


class PrefixStore:
    """Caches of one row each, the least recently used dropped first.

    Args:
        most_bytes: what they may take together.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.kept: OrderedDict[tuple[int, ...], KVCache] = OrderedDict()
        self.nbytes = 0

    def begin(self, marks: list[int], length: int) -> KVCache | None:
        """A cache with room for `length` tokens that holds the longest known beginning.

        At least the last mark is left to be read: it gives the first logits. None: nothing is known.
        """
        known = {key: min(common(list(key), marks), len(marks) - 1) for key in self.kept}
        best = max(known, key=known.get, default=None)
        if best is None or known[best] < MIN_REUSED:
            return None
        self.kept.move_to_end(best)
        shown = copy.copy(self.kept[best])
        shown.length = known[best]
        return shown.taken(torch.tensor([0]), length)

    def keep(self, marks: list[int], cache: KVCache) -> None:
        """Keep a cache that holds exactly these marks, in place of shorter beginnings of it."""
        key = tuple(marks)
        if any(old[: len(key)] == key for old in self.kept):
            return
        for other in [old for old in self.kept if key[: len(old)] == old]:
            self.nbytes -= self.kept.pop(other).nbytes
        self.kept[key] = cache
        self.nbytes += cache.nbytes
        while self.nbytes > self.most_bytes and self.kept:
            self.nbytes -= self.kept.popitem(last=False)[1].nbytes


def rest(prompt: Prompt, start: int, image: int | None, audio: int | None) -> Prompt:
    """What of a prompt is left to read from token `start` on, with its pictures and sounds."""
    ids = prompt.ids[start:]
    pictures = ids.count(image) // IMAGE_TOKENS
    sounds, tokens = [], ids.count(audio)
    for sound in reversed(prompt.sounds):
        if tokens <= 0:
            break
        sounds.insert(0, sound)
        tokens -= audio_tokens(sound.mel.shape[1])
    return Prompt(ids, prompt.images[len(prompt.images) - pictures :], sounds)
