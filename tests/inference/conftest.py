"""Fixtures of the inference tests: a loaded nano Omni, and media files made on the spot."""

import numpy as np
import pytest
import soundfile
from PIL import Image

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def omni(nano_omni_dir):
    from inference import Omni

    return Omni.from_pretrained(nano_omni_dir)


def picture(seed: int, size: int = 64) -> Image.Image:
    return Image.fromarray(
        np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    )


def tone(hertz: float, seconds: float = 0.5, rate: int = 16_000) -> np.ndarray:
    time = np.arange(int(seconds * rate)) / rate
    return (0.4 * np.sin(2 * np.pi * hertz * time)).astype(np.float32)


def speech(start: float = 0.3, seconds: float = 0.5) -> np.ndarray:
    """A stretch of the shipped recording: a tone is no speech, so it would not be heard."""
    wave, rate = soundfile.read(ROOT / "examples" / "sample_audio.wav", dtype="float32")
    return wave[int(start * rate) : int((start + seconds) * rate)]  # (samples,) at 16 kHz


@pytest.fixture
def red():
    return picture(1)


@pytest.fixture
def blue():
    return picture(2)
