"""Sound for the wire: PCM, WAV, AAC, FLAC, MP3 and Opus, encoded as it is made; and sample rates."""

import io

import av
import numpy as np

from inference.media import SAMPLE_RATE
from inference.output import pcm16, wav_header

WIRE_RATE = 24_000  # Hz of raw PCM in OpenAI's API
CONTENT_TYPES = {
    "pcm": "audio/pcm",
    "wav": "audio/wav",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
}
CODECS = {  # format -> (container, codec, sample format, rate in Hz)
    "aac": ("adts", "aac", "fltp", SAMPLE_RATE),
    "flac": ("flac", "flac", "s16", SAMPLE_RATE),
    "mp3": ("mp3", "libmp3lame", "s16p", SAMPLE_RATE),
    "opus": ("ogg", "libopus", "s16", 48_000),
}


class Resampler:
    """Changes the rate of a mono stream; cut anywhere, it gives the same samples."""

    def __init__(self, rate: int, new_rate: int) -> None:
        self.rate, self.same = rate, rate == new_rate
        self.inner = av.AudioResampler(format="s16", layout="mono", rate=new_rate)

    def push(self, pcm: np.ndarray) -> np.ndarray:
        """int16 (samples,) -> int16 (samples,), as many as are settled."""
        if self.same or not len(pcm):
            return pcm
        return samples_of(self.inner.resample(frame_of(pcm, self.rate)))

    def flush(self) -> np.ndarray:
        """What is left at the end."""
        return np.zeros(0, np.int16) if self.same else samples_of(self.inner.resample(None))


def frame_of(pcm: np.ndarray, rate: int) -> av.AudioFrame:
    """int16 (samples,) as a frame of FFmpeg's."""
    frame = av.AudioFrame.from_ndarray(pcm[None].astype(np.int16), format="s16", layout="mono")
    frame.sample_rate = rate
    return frame


def samples_of(frames: list[av.AudioFrame]) -> np.ndarray:
    parts = [frame.to_ndarray()[0] for frame in frames]
    return np.concatenate(parts) if parts else np.zeros(0, np.int16)


class PcmEncoder:
    """16-bit little-endian mono at 24 kHz, without a header."""

    def __init__(self) -> None:
        self.resampler = Resampler(SAMPLE_RATE, WIRE_RATE)

    def push(self, samples: np.ndarray) -> bytes:
        return self.resampler.push(pcm16(samples)).astype("<i2").tobytes()

    def finish(self) -> bytes:
        return self.resampler.flush().astype("<i2").tobytes()


class WavEncoder:
    """16-bit mono WAV whose header does not know its length, as it is sent while it is made."""

    def __init__(self) -> None:
        self.head = wav_header(SAMPLE_RATE)

    def push(self, samples: np.ndarray) -> bytes:
        head, self.head = self.head, b""
        return head + pcm16(samples).tobytes()

    def finish(self) -> bytes:
        return b""


class Pipe:
    """What FFmpeg writes to and never goes back in: it has no `seek`."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.written.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        data, self.written = b"".join(self.written), []
        return data


class FfmpegEncoder:
    """A compressed format, by FFmpeg."""

    def __init__(self, kind: str) -> None:
        container, codec, sample_format, rate = CODECS[kind]
        self.out = Pipe()
        options = {"write_xing": "0"} if kind == "mp3" else {}  # a header that tells the length
        self.file = av.open(self.out, "w", format=container, options=options)
        self.stream = self.file.add_stream(codec, rate=rate, layout="mono")
        self.stream.format = sample_format

    def push(self, samples: np.ndarray) -> bytes:
        if len(samples):
            self.file.mux(self.stream.encode(frame_of(pcm16(samples), SAMPLE_RATE)))
        return self.out.taken()

    def finish(self) -> bytes:
        self.file.mux(self.stream.encode(None))
        self.file.close()
        return self.out.taken()


def encoder(kind: str):
    """What encodes float32 chunks: `push(samples) -> bytes`, then `finish() -> bytes`."""
    if kind in ("pcm", "pcm16"):
        return PcmEncoder()
    return WavEncoder() if kind == "wav" else FfmpegEncoder(kind)


def encode_all(chunks: list[np.ndarray], kind: str) -> bytes:
    """A whole sound; the headers of WAV and FLAC files then tell its length."""
    if kind in ("wav", "flac"):
        import soundfile

        out = io.BytesIO()
        pcm = pcm16(np.concatenate(chunks) if chunks else np.zeros(0, np.float32))
        soundfile.write(out, pcm, SAMPLE_RATE, format=kind.upper(), subtype="PCM_16")
        return out.getvalue()
    made = encoder(kind)
    return b"".join([*map(made.push, chunks), made.finish()])
