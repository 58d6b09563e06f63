"""The shipped recording in containers that phones, browsers and editors write, made by PyAV."""

from pathlib import Path

import av
import numpy as np
import soundfile

from tests.conftest import ROOT

RATE = 16_000  # Hz
CONTAINERS = [  # name, codec, rate
    ("a.m4a", "aac", 44_100), ("a.mp4", "aac", 48_000), ("a.3gp", "aac", 16_000),
    ("a.mov", "pcm_s16le", 22_050), ("a.webm", "libopus", 48_000), ("a.mkv", "libmp3lame", 16_000),
    ("a.wma", "wmav2", 44_100), ("a.aac", "aac", 32_000), ("a.avi", "mp2", 44_100),
    ("a.ts", "mp2", 48_000), ("a.au", "pcm_mulaw", 8_000), ("a.mp3", "libmp3lame", 24_000),
    ("a.opus", "libopus", 48_000), ("a.caf", "alac", 44_100),
]  # fmt: skip


def recording() -> np.ndarray:
    return soundfile.read(ROOT / "examples" / "sample_audio.wav", dtype="float32")[0]  # (samples,)


def encode(path: Path, codec: str, rate: int) -> None:
    """The shipped recording by PyAV in the container of the path's name."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = 64_000
        pcm = (recording() * 32_767).astype(np.int16)[None]  # (1, samples)
        frame = av.AudioFrame.from_ndarray(pcm, format="s16", layout="mono")
        frame.sample_rate = RATE
        resampler = av.AudioResampler(stream.format.name, "mono", rate, stream.codec_context.frame_size or 0)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            out.mux(stream.encode(part))
        out.mux(stream.encode())
