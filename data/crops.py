"""Fixed-length waveform crops from speech shards, chosen by (seed, step): for codec and vocoder.

Nothing is learned or decoded here; a shard's record only needs a `wave` blob of int16 at 16 kHz.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data.shards import ShardReader


class CropReader:
    """Random crops of `samples` samples; the same (seed, step) always gives the same batch.

    Args:
        utterances: use only the first so many, so that a folder that is still growing, or was
            made for a bigger stage, gives the same crops.
    """

    def __init__(self, folder: str | Path, samples: int, seed: int, utterances: int | None = None):
        self.reader, self.samples, self.seed = ShardReader(folder), samples, seed
        self.count = min(utterances or len(self.reader), len(self.reader))

    def __len__(self) -> int:
        return self.count

    def batch(self, step: int, size: int, rank: int = 0, world: int = 1) -> np.ndarray:
        """This rank's share of the global batch of `size` crops: float32 (size/world, samples)."""
        rng = np.random.default_rng((self.seed, step))
        picks = rng.integers(self.count, size=size)
        places = rng.random(size)
        mine = range(size * rank // world, size * (rank + 1) // world)
        rows = [self.crop(int(picks[i]), places[i]) for i in mine]
        return np.stack(rows)

    def crop(self, index: int, place: float) -> np.ndarray:
        """Crop at `place` in [0, 1) of utterance `index`; a short one is padded with zeros."""
        wave = self.reader[index]["wave"]
        start = int(place * max(1, len(wave) - self.samples + 1))
        piece = wave[start : start + self.samples].astype(np.float32) / 32768.0
        return np.pad(piece, (0, self.samples - len(piece)))
