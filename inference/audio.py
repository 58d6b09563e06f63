"""Sounds from whatever libsndfile or FFmpeg opens: recordings, and the sound of videos.

The content decides, never the name. Only what is heard is read; what is damaged is skipped.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, groupby

import numpy as np

from inference.notice import notice
from inference.source import LIMITS, MIN_SECONDS, Limits, Source, as_source
from inference.waveform import levelled, resampled_blocks
from models.errors import UserError

SAMPLE_RATE = 16_000  # Hz, what the audio encoder is built for (models.mel)
MIN_RATE, MAX_RATE = 1_000, 768_000  # Hz
READ_SECONDS = 5  # read at once from a file


def load_audio(source, limits: Limits = LIMITS) -> np.ndarray:
    """A sound as float32 mono at 16 kHz in [-1, 1], quiet speech raised. (samples,)

    Args:
        source: a path, bytes, a binary file object, a pair (samples, rate), or a dict with
            `array` and `sampling_rate` as Hugging Face data sets have it.
        limits: what lies beyond `max_seconds` is cut with a notice.

    Raises:
        UserError: no sound in it, damaged, too short, or not numbers.
    """
    name, blocks, seconds = open_audio(source, limits)
    count = int(limits.max_seconds * SAMPLE_RATE)
    taken, total = [], 0
    with closing(blocks):
        for block in blocks:
            taken.append(block)
            total += len(block)
            if total > count:
                break
    wave = np.concatenate([*taken, np.zeros(0, np.float32)])
    check_wave(wave, name)
    if total > count or seconds > limits.max_seconds:
        long = f"{seconds:.1f} s" if seconds > limits.max_seconds else f"more than {limits.max_seconds:g} s"
        notice(f"{name} is {long} long: only the first {limits.max_seconds:g} s are heard")
    return levelled(wave[:count], SAMPLE_RATE)


def open_audio(source, limits: Limits = LIMITS) -> tuple[str, Iterator[np.ndarray], float]:
    """A sound of any length as (name, blocks, seconds): float32 (n,) at 16 kHz each, not levelled.

    `seconds` is 0 where the file does not say. An hour is read as it is taken.
    """
    file = as_source(source, "audio", limits)
    if file is None:
        samples, rate = from_array(source)
        check_rate(rate, "the audio")
        seconds = len(samples) / rate
        return "the audio", resampled_blocks(iter([samples]), rate, SAMPLE_RATE), seconds
    return file.name, *read_audio(file)


def check_wave(wave: np.ndarray, name: str) -> None:
    """Refuse what is too short to hear, or not numbers. (n,) at 16 kHz"""
    if len(wave) < MIN_SECONDS * SAMPLE_RATE:
        length = f"only {1000 * len(wave) / SAMPLE_RATE:.3g} ms long" if len(wave) else "empty"
        raise UserError(f"{name} is {length}: nothing to hear under {MIN_SECONDS * 1000:g} ms")
    if not np.isfinite(wave).all():
        raise UserError(f"{name} holds samples that are not numbers (NaN or infinity)")


def check_rate(rate: int, name: str) -> None:
    if not MIN_RATE <= rate <= MAX_RATE:
        raise UserError(f"{name} has {rate} samples a second: {MIN_RATE} to {MAX_RATE} will do")


def from_array(source) -> tuple[np.ndarray, int]:
    """Samples as float32 (n, channels) and their rate; integers are scaled by their type."""
    try:
        if isinstance(source, dict):
            source = source["array"], source["sampling_rate"]
        samples, rate = source
        samples, rate = np.asarray(samples), int(rate)
    except (TypeError, ValueError, RuntimeError, KeyError, OverflowError):
        raise UserError("audio must be a path, bytes, a file or a pair (samples, rate)") from None
    if samples.ndim not in (1, 2) or samples.dtype.kind not in "iuf":
        raise UserError(
            f"audio samples must be numbers of shape (n,) or (n, channels), not {samples.dtype} "
            f"of {samples.shape}"
        )
    if samples.ndim == 1:
        samples = samples[:, None]
    elif samples.shape[0] <= samples.shape[1]:  # the shorter axis is the channels
        samples = samples.T
    return scaled(samples), rate


def scaled(samples: np.ndarray) -> np.ndarray:
    """Integer samples of any depth as float32 in [-1, 1]; floats as they are."""
    kind = samples.dtype
    if kind.kind == "f":
        return samples.astype(np.float32)
    half = 2.0 ** (8 * kind.itemsize - 1)
    return samples.astype(np.float32) / half - (1.0 if kind.kind == "u" else 0.0)


def read_audio(file: Source) -> tuple[Iterator[np.ndarray], float]:
    """Blocks and seconds of a file: by libsndfile where it can, else by FFmpeg; MP3 by FFmpeg alone.

    libsndfile's MP3 reader writes to stderr about a cut file and gives up at a damaged spot.
    """
    with file.open() as stream:
        head = stream.read(3).ljust(2)
    mp3 = head == b"ID3" or (head[0] == 0xFF and head[1] >= 0xE0 and head[1] & 6)  # a tag, or a frame
    for reader in (ffmpeg_pieces,) if mp3 else (sndfile_pieces, ffmpeg_pieces):
        pieces = reader(file)
        first = next(pieces, None)  # ((n, channels), rate, seconds)
        if first is not None:  # FFmpeg gives one, or says why it cannot
            break
    check_rate(first[1], file.name)
    return blocks_of(chain([first], pieces)), first[2]


def blocks_of(pieces: Iterator[tuple[np.ndarray, int, float]]) -> Iterator[np.ndarray]:
    """Resample pieces; where a broadcast changes its rate or channels, a new run begins."""
    for (_, rate), run in groupby(pieces, lambda piece: (piece[0].shape[1], piece[1])):
        if MIN_RATE <= rate <= MAX_RATE:
            yield from resampled_blocks((samples for samples, _, _ in run), rate, SAMPLE_RATE)


def sndfile_pieces(file: Source) -> Iterator[tuple[np.ndarray, int, float]]:
    """(samples, rate, seconds) by libsndfile; where it stops in the midst FFmpeg reads on.

    Nothing of what it cannot read at all or finds empty.
    """
    import soundfile

    given = frames = 0
    try:
        with file.open() as stream, soundfile.SoundFile(stream) as sound:
            rate = sound.samplerate
            frames = sound.frames
            size = READ_SECONDS * max(rate, 1)
            while len(samples := sound.read(size, dtype="float32", always_2d=True)):
                given += len(samples)
                yield samples, rate, frames / max(rate, 1)
    except (soundfile.SoundFileError, OSError, RuntimeError, ValueError, TypeError, MemoryError):
        pass  # damaged here, or not its business
    if 0 < given < frames:
        with suppress(UserError):  # FFmpeg finds nothing either
            yield from beyond(given, ffmpeg_pieces(file))


def beyond(given: int, pieces: Iterator) -> Iterator[tuple[np.ndarray, int, float]]:
    """Pieces without the first samples."""
    for samples, rate, seconds in pieces:
        if len(samples) > given:
            yield samples[given:], rate, seconds
        given = max(0, given - len(samples))


@contextmanager
def container(file: Source, kind: str):
    """An FFmpeg container that opens nothing but this file: playlists cannot name others."""
    import av

    with file.open() as stream:
        try:
            opened = av.open(
                stream, metadata_errors="replace", options={"protocol_whitelist": "none"}
            )
        except (av.FFmpegError, OSError, ValueError, RuntimeError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{file.name} is not {kind} that FFmpeg reads ({reason})") from None
        with opened:
            yield opened


def ffmpeg_pieces(file: Source) -> Iterator[tuple[np.ndarray, int, float]]:
    """(samples, rate, seconds) of the best sound track by FFmpeg; damaged packets are skipped."""
    import av

    with container(file, "audio") as opened:
        stream = opened.streams.best("audio")
        if stream is None:
            raise UserError(f"{file.name} has no sound in it")
        seconds = duration(opened, stream)
        found = False
        for frame in sound_frames(opened, stream):
            try:
                samples = as_channels(frame)
            except (av.FFmpegError, ValueError, TypeError):
                continue
            found = True
            yield samples, frame.sample_rate, seconds
        if not found:
            raise UserError(f"{file.name} is corrupt, or its sound is empty: nothing can be decoded")


def sound_frames(opened, stream) -> Iterator:
    """Frames of a track; a packet that cannot be decoded is left out."""
    import av

    packets = opened.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.FFmpegError, OSError, ValueError):
            return
        try:
            yield from packet.decode()
        except (av.FFmpegError, ValueError):
            continue


def as_channels(frame) -> np.ndarray:
    """The samples of a decoded frame as float32 (n, channels)."""
    samples = frame.to_ndarray()  # planar (channels, n), packed (1, n * channels)
    channels = frame.layout.nb_channels
    samples = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
    return scaled(samples)


def duration(opened, stream) -> float:
    """Seconds of a track, 0 where neither it nor the file says."""
    import av

    if stream.duration and stream.time_base:
        return max(float(stream.duration * stream.time_base), 0.0)
    return max((opened.duration or 0) / av.time_base, 0.0)
