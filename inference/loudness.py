"""Loudness of a voice: one gain for everything it says.

A gain measured on each sentence would have to wait for the sentence's end; a voice's own loudness
hardly varies, so it is measured once and the sound can leave at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOUDNESS = 0.08  # root mean square of the speech
PEAK = 0.95  # largest sample
AUDIBLE = 0.03  # of the peak: what is below is silence


@dataclass(frozen=True)
class Loudness:
    """What brings one voice to the common loudness."""

    offset: float  # mean of the voice's samples
    gain: float

    @classmethod
    def of(cls, wave: np.ndarray) -> Loudness:
        """From a sample of the voice (samples,)."""
        offset = float(wave.mean()) if len(wave) else 0.0
        size = np.abs(wave - offset)  # (samples,)
        peak = float(size.max(initial=0.0))
        if peak == 0:
            return cls(offset, 1.0)
        loud = size[size > AUDIBLE * peak]
        return cls(offset, LOUDNESS / float(np.sqrt(np.mean(np.square(loud)))))

    def level(self, wave: np.ndarray) -> np.ndarray:
        """The same sound at the common loudness, never beyond PEAK. (samples,)"""
        return ((wave - self.offset) * self.gain).clip(-PEAK, PEAK).astype(np.float32)
