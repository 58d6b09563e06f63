"""Fixtures of the inference tests: a loaded nano Omni, and media files made on the spot."""

import numpy as np
import pytest
from PIL import Image


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


@pytest.fixture
def red():
    return picture(1)


@pytest.fixture
def blue():
    return picture(2)
