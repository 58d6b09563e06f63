"""Fixed-length waveform crops from speech shards, chosen by (seed, step): for codec and vocoder.

Nothing is learned or decoded here; a shard's record only needs a `wave` blob of int16 at 16 kHz.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from data.shards import ShardReader
from data.speech.augment import disturb


class CropReader:
    """Random crops of `samples` samples; the same (seed, step) always gives the same batch.

    Args:
        shares: of each folder of shards, how much of a batch it makes.
        utterances: how many of a folder to use. Then one that still grows gives the same crops.
        noisy: share of the crops that meet a room, noise or a narrow band, as microphones do.
    """

    def __init__(
        self, shares: Mapping[Path, float], samples: int, seed: int,
        utterances: Mapping[Path, int] | None = None, noisy: float = 0.0,
    ):
        self.readers = [ShardReader(folder) for folder in shares]
        wanted = [(utterances or {}).get(folder) for folder in shares]
        self.counts = [min(n or len(r), len(r)) for n, r in zip(wanted, self.readers, strict=True)]
        weights = np.array(list(shares.values()), dtype=float)
        self.shares = weights / weights.sum()
        self.samples, self.seed, self.noisy = samples, seed, noisy

    def batch(self, step: int, size: int, rank: int = 0, world: int = 1) -> np.ndarray:
        """This rank's share of the global batch of `size` crops: float32 (size/world, samples)."""
        rng = np.random.default_rng((self.seed, step))
        folders = rng.choice(len(self.readers), size=size, p=self.shares)
        numbers, places = rng.random(size), rng.random(size)
        seeds = rng.integers(2**32, size=size)
        mine = range(size * rank // world, size * (rank + 1) // world)
        return np.stack([
            self.crop(int(folders[i]), numbers[i], places[i], int(seeds[i])) for i in mine
        ])

    def crop(self, folder: int, number: float, place: float, seed: int) -> np.ndarray:
        """Crop at `place` in [0, 1) of utterance `number` in [0, 1), perhaps disturbed. (samples,)"""
        piece, rng = self._piece(folder, number, place), np.random.default_rng(seed)
        if rng.random() >= self.noisy:
            return piece
        places = rng.random((3, 3))  # of three other people, who talk at once
        folders = (places[:, 0] * len(self.readers)).astype(int)
        others = [self._piece(f, *p[1:]) for f, p in zip(folders, places, strict=True)]
        return disturb(piece, np.sum(others, 0), rng)[0]

    def _piece(self, folder: int, number: float, place: float) -> np.ndarray:
        """A crop as it was recorded; a short one ends in zeros. float32 (samples,)"""
        wave = self.readers[folder][int(number * self.counts[folder])]["wave"]
        start = int(place * max(1, len(wave) - self.samples + 1))
        piece = wave[start : start + self.samples].astype(np.float32) / 32768.0
        return np.pad(piece, (0, self.samples - len(piece)))
