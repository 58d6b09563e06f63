"""Reading pictures, sounds and videos from whatever a user brings.

Only what will be used is read: the first frame of an animation, the first 30 s of a recording, a
few frames of a video. What cannot be used is refused with one line; what is cut short is said in
a notice. No tensors and no features here: models.vision and models.mel make those.
"""

import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inference.notice import notice
from models.errors import UserError

SAMPLE_RATE = 16_000  # Hz, what the ears are built for (models.mel)
MAX_AUDIO_SECONDS = 30.0  # 375 tokens: two such clips and a question fit the context
MIN_AUDIO_SECONDS = 0.025  # shorter than one analysis window there is nothing to hear
MIN_RATE, MAX_RATE = 1_000, 768_000  # Hz
VIDEO_FRAMES = 4  # frames seen of a video; 49 tokens each


def check_file(path: str | os.PathLike, kind: str) -> Path:
    """Refuse what is no readable regular file; `kind` names it in the message."""
    name = os.fspath(path)
    if not name:
        raise UserError(f"the {kind} file's name is empty")
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            raise UserError(f"{name} is a directory, not a {kind} file")
        if not stat.S_ISREG(mode):
            raise UserError(f"{name} is not a regular file; copy the {kind} to one first")
        with open(name, "rb"):
            pass
    except FileNotFoundError:
        raise UserError(f"no such {kind} file: {name}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read the {kind} file {name!r}: {reason}") from None
    return Path(name)


def load_image(source):
    """A picture as a PIL image: from a path, a PIL image, or a uint8 array (H, W[, 1|3|4])."""
    from PIL import Image

    if isinstance(source, Image.Image):
        return _first_frame(source, "the image")
    if isinstance(source, str | os.PathLike):
        path = check_file(source, "image")
        try:
            with warnings.catch_warnings():  # large but under Pillow's limit: read it quietly
                warnings.simplefilter("ignore")
                with Image.open(path) as image:
                    return _first_frame(image, str(path))
        except Image.UnidentifiedImageError:
            raise UserError(f"{path} is not an image, or a corrupt one") from None
        except Image.DecompressionBombError:
            limit = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 1_000_000
            raise UserError(
                f"{path} has more than {limit} million pixels: make it smaller first"
            ) from None
    array = np.asarray(source)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or 0 in array.shape:
        raise UserError(
            "an image array must be uint8 of shape (height, width[, channels]), "
            f"not {array.dtype} of {array.shape}"
        )
    array = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if array.ndim == 3 and array.shape[2] not in (3, 4):
        raise UserError(f"an image array has 1, 3 or 4 channels in last place, not {array.shape}")
    return Image.fromarray(array)


def _first_frame(image, name: str):
    """Decode fully, so that a broken file fails here; 16-bit greys become 8-bit."""
    from PIL import Image

    try:
        if getattr(image, "n_frames", 1) > 1:
            image.seek(0)
        image.load()
        if image.mode.startswith("I"):  # Pillow would clip these to white instead of scaling
            return Image.fromarray((np.asarray(image).clip(0, 65_535) // 257).astype(np.uint8))
        if image.mode == "F":
            raise UserError(f"{name} holds floating-point pixels: save it as 8-bit first")
        return image.copy()
    except (UserError, Image.DecompressionBombError):
        raise
    except Exception as error:  # noqa: BLE001 (corrupt files make Pillow raise nearly anything)
        raise UserError(f"{name} is corrupt: {error}") from None


def load_audio(source, max_seconds: float = MAX_AUDIO_SECONDS) -> np.ndarray:
    """A sound as float32 mono at 16 kHz in [-1, 1]: from a path or a pair (samples, rate).

    A file is read only as far as it is used; what lies beyond `max_seconds` is cut with a notice.
    """
    if isinstance(source, str | os.PathLike):
        name = str(source)
        samples, rate, seconds = _read_audio(check_file(source, "audio"), max_seconds)
    else:
        name = "the audio"
        samples, rate, seconds = _given_audio(source, max_seconds)
    if not MIN_RATE <= rate <= MAX_RATE:
        raise UserError(f"{name} has {rate} samples a second: {MIN_RATE} to {MAX_RATE} will do")
    if len(samples) < MIN_AUDIO_SECONDS * rate:
        length = f"only {1000 * len(samples) / rate:.3g} ms long" if len(samples) else "empty"
        raise UserError(
            f"{name} is {length}: nothing to hear under {MIN_AUDIO_SECONDS * 1000:g} ms"
        )
    if not np.isfinite(samples).all():
        raise UserError(f"{name} holds samples that are not numbers (NaN or infinity)")
    if seconds > max_seconds:
        notice(f"{name} is {seconds:.1f} s long: only the first {max_seconds:g} s are heard")
    peak = np.abs(samples).max()
    return resample(samples / max(peak, 1.0), rate, SAMPLE_RATE)


def _read_audio(path: Path, max_seconds: float) -> tuple[np.ndarray, int, float]:
    """(mono samples, rate, seconds in the file), reading no further than needed."""
    import soundfile

    try:
        with soundfile.SoundFile(path) as file:
            rate = file.samplerate
            samples = file.read(int(max_seconds * rate), dtype="float32", always_2d=True)
            seconds = max(file.frames, len(samples)) / max(rate, 1)
    except (soundfile.SoundFileError, OSError, RuntimeError, ValueError, TypeError):
        raise UserError(f"{path} is not audio that libsndfile reads, or corrupt") from None
    return samples.mean(axis=1), rate, seconds  # (samples, channels) -> (samples,)


def _given_audio(source, max_seconds: float) -> tuple[np.ndarray, int, float]:
    """The same from (samples, rate); integers are scaled by their type, channels averaged."""
    try:
        samples, rate = source
        samples, rate = np.asarray(samples), int(rate)
    except (TypeError, ValueError, RuntimeError):
        raise UserError("audio must be a path or a pair (samples, rate)") from None
    if samples.ndim not in (1, 2) or samples.dtype.kind not in "iuf":
        raise UserError(
            f"audio samples must be numbers of shape (n,) or (n, channels), not {samples.dtype} "
            f"of {samples.shape}"
        )
    if samples.ndim == 2:  # the shorter axis is the channels, first (torchaudio) or last
        samples = samples if samples.shape[0] > samples.shape[1] else samples.T
    seconds = len(samples) / max(rate, 1)
    samples = samples[: int(max_seconds * max(rate, 1))]
    kind = samples.dtype
    samples = samples.astype(np.float32)
    if kind.kind in "iu":
        half = 2.0 ** (8 * kind.itemsize - 1)
        samples = samples / half - (1.0 if kind.kind == "u" else 0.0)
    return (samples.mean(axis=1) if samples.ndim == 2 else samples), rate, seconds


def resample(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Change the rate in the frequency domain: exact for every pair of rates, however odd.

    A polyphase filter needs gcd(rates) to be large; 44,101 Hz to 16,000 Hz would take gigabytes.
    """
    samples = np.asarray(samples, dtype=np.float32)
    if rate == new_rate:
        return samples
    count = round(len(samples) * new_rate / rate)
    padding = rate // 20  # 50 ms of silence, so that the end does not ring into the start
    seconds = -(-(len(samples) + padding) // rate)  # whole seconds: both lengths are exact
    spectrum = np.fft.rfft(samples, seconds * rate)[: seconds * min(rate, new_rate) // 2 + 1]
    wave = np.fft.irfft(spectrum, seconds * new_rate) * (new_rate / rate)
    return wave[:count].astype(np.float32).clip(-1.0, 1.0)


def load_video(source, frames: int = VIDEO_FRAMES) -> list:
    """Evenly spaced frames of a video file as PIL images, first to last; fewer if it has fewer."""
    import av

    path = check_file(source, "video")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise UserError(f"{path} has no picture in it, only sound")
            images = _seek_frames(container, frames) or _count_frames(path, frames)
    except (av.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path} is not a video that FFmpeg reads, or corrupt ({reason})") from None
    if not images:
        raise UserError(f"{path} has no frame that can be decoded")
    return images


def _seek_frames(container, frames: int) -> list:
    """Frames at the middles of equal parts of a known duration, by seeking; [] if not possible."""
    import av

    stream = container.streams.video[0]
    if stream.duration and stream.time_base:
        seconds = float(stream.duration * stream.time_base)
    else:
        seconds = (container.duration or 0) / av.time_base
    if seconds <= 0 or not stream.time_base:
        return []
    start = float((stream.start_time or 0) * stream.time_base)
    found = {}  # by time: a short video gives the same frame twice
    for part in range(frames):
        wanted = start + (part + 0.5) / frames * seconds
        try:
            container.seek(int(wanted / stream.time_base), stream=stream)
        except av.FFmpegError:
            return []  # no index, as in a file cut short
        shown = None
        for frame in _decode(container):  # the last frame not after the wanted time
            if frame.time is None or (shown is not None and frame.time > wanted):
                break
            shown = frame
        if shown is not None:
            found[shown.time] = shown.to_image()
    return [found[time] for time in sorted(found)]


def _count_frames(path: Path, frames: int) -> list:
    """Evenly spaced frames of a stream that does not say how long it is: count, then pick."""
    import av

    with av.open(str(path)) as container:
        total = sum(1 for _ in _decode(container))
    picked = {int((part + 0.5) / frames * total) for part in range(frames)}
    with av.open(str(path)) as container:
        numbered = enumerate(_decode(container))
        return [frame.to_image() for index, frame in numbered if index in picked]


def _decode(container) -> Iterator:
    """Frames of the first video stream, as far as it is sound."""
    import av

    try:
        yield from container.decode(video=0)
    except av.FFmpegError:  # damaged from here on: what came before is still seen
        return
